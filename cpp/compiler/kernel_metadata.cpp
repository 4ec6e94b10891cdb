#include "compiler/kernel_metadata.h"

#include <llvm/Support/JSON.h>

namespace tilewright {

std::string encode_metadata(const KernelMetadata &metadata) {
  llvm::json::Array list;
  for (const IndexSite &site : metadata.sites) {
    list.push_back(llvm::json::Object{{"text", llvm::json::fixUTF8(site.text)},
                                      {"array", llvm::json::fixUTF8(site.array)},
                                      {"dimension", site.dimension}});
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"sites", std::move(list)}, {"full", metadata.is_full}});
  return text;
}

std::optional<KernelMetadata> decode_metadata(const std::string &text) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = parsed->getAsObject();
  const llvm::json::Array *list = object == nullptr ? nullptr : object->getArray("sites");
  if (list == nullptr) {
    return std::nullopt;
  }
  KernelMetadata metadata;
  metadata.is_full = object->getBoolean("full").value_or(false);
  for (const llvm::json::Value &item : *list) {
    const llvm::json::Object *site = item.getAsObject();
    if (site == nullptr) {
      return std::nullopt;
    }
    const auto site_text = site->getString("text");
    const auto array = site->getString("array");
    const auto dimension = site->getInteger("dimension");
    if (!site_text || !array || !dimension) {
      return std::nullopt;
    }
    metadata.sites.push_back({site_text->str(), array->str(), static_cast<int>(*dimension)});
  }
  return metadata;
}

} // namespace tilewright
