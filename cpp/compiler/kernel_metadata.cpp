#include "compiler/kernel_metadata.h"

#include <llvm/Support/JSON.h>

namespace tilewright {

namespace {

namespace json = llvm::json;

json::Array names_of(const std::vector<std::string> &names) {
  json::Array list;
  for (const std::string &name : names) {
    list.push_back(json::fixUTF8(name));
  }
  return list;
}

/// What checks that were asked for report besides.
void encode_report(const IndexSite &site, json::Object &into) {
  into["computation"] = json::fixUTF8(site.computation);
  into["iterators"] = names_of(site.iterators);
  into["rank"] = site.rank;
  into["memory"] = json::fixUTF8(site.memory);
  into["writes"] = site.writes;
  into["complex"] = site.is_complex;
  json::Array reads;
  for (const ReportedRead &read : site.reads) {
    reads.push_back(json::Object{
        {"array", json::fixUTF8(read.array)}, {"rank", read.rank}, {"complex", read.is_complex}});
  }
  into["reads"] = std::move(reads);
  into["piece"] = site.piece;
}

std::optional<std::vector<std::string>> decode_names(const json::Array *list) {
  std::optional<std::vector<std::string>> names;
  if (list != nullptr) {
    names.emplace();
    for (const json::Value &item : *list) {
      const auto name = item.getAsString();
      if (!name) {
        return std::nullopt;
      }
      names->push_back(name->str());
    }
  }
  return names;
}

bool decode_report(const json::Object &from, IndexSite &site) {
  const auto iterators = decode_names(from.getArray("iterators"));
  const json::Array *reads = from.getArray("reads");
  if (!iterators || reads == nullptr) {
    return false;
  }
  site.iterators = *iterators;
  site.computation = from.getString("computation").value_or("").str();
  site.rank = static_cast<int>(from.getInteger("rank").value_or(0));
  site.memory = from.getString("memory").value_or("").str();
  site.writes = from.getBoolean("writes").value_or(false);
  site.is_complex = from.getBoolean("complex").value_or(false);
  for (const json::Value &item : *reads) {
    const json::Object *read = item.getAsObject();
    if (read == nullptr) {
      return false;
    }
    site.reads.push_back({read->getString("array").value_or("").str(),
                          static_cast<int>(read->getInteger("rank").value_or(0)),
                          read->getBoolean("complex").value_or(false)});
  }
  site.piece = static_cast<int>(from.getInteger("piece").value_or(0));
  return true;
}

} // namespace

std::string encode_metadata(const KernelMetadata &metadata) {
  json::Array list;
  for (const IndexSite &site : metadata.sites) {
    json::Object described{{"text", json::fixUTF8(site.text)},
                           {"array", json::fixUTF8(site.array)},
                           {"dimension", site.dimension}};
    if (site.is_unsigned) {
      described["unsigned"] = true;
    }
    if (site.from_origin) {
      described["from_origin"] = true;
    }
    if (!site.computation.empty()) {
      encode_report(site, described);
    }
    list.push_back(std::move(described));
  }
  json::Object all{{"sites", std::move(list)}, {"full", metadata.is_full}};
  if (!metadata.nests.empty()) {
    json::Array nests;
    for (const TimedNest &nest : metadata.nests) {
      nests.push_back(names_of(nest.statements));
    }
    all["nests"] = std::move(nests);
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(all));
  return text;
}

std::optional<KernelMetadata> decode_metadata(const std::string &text) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const json::Object *object = parsed->getAsObject();
  const json::Array *list = object == nullptr ? nullptr : object->getArray("sites");
  if (list == nullptr) {
    return std::nullopt;
  }
  KernelMetadata metadata;
  metadata.is_full = object->getBoolean("full").value_or(false);
  for (const json::Value &item : *list) {
    const json::Object *site = item.getAsObject();
    if (site == nullptr) {
      return std::nullopt;
    }
    const auto site_text = site->getString("text");
    const auto array = site->getString("array");
    const auto dimension = site->getInteger("dimension");
    if (!site_text || !array || !dimension) {
      return std::nullopt;
    }
    IndexSite &described = metadata.sites.emplace_back();
    described.text = site_text->str();
    described.array = array->str();
    described.dimension = static_cast<int>(*dimension);
    described.is_unsigned = site->getBoolean("unsigned").value_or(false);
    described.from_origin = site->getBoolean("from_origin").value_or(false);
    if (site->get("computation") != nullptr && !decode_report(*site, described)) {
      return std::nullopt;
    }
  }
  if (const json::Array *nests = object->getArray("nests")) {
    for (const json::Value &nest : *nests) {
      auto statements = decode_names(nest.getAsArray());
      if (!statements) {
        return std::nullopt;
      }
      metadata.nests.push_back({std::move(*statements)});
    }
  }
  return metadata;
}

} // namespace tilewright
