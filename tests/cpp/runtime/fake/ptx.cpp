// The text of PTX as instructions.
#include "ptx.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace fake_driver {

namespace {

std::string trimmed(const std::string &text) {
  const auto from = text.find_first_not_of(" \t\n");
  return from == std::string::npos ? ""
                                   : text.substr(from, text.find_last_not_of(" \t\n") - from + 1);
}

/// Parts between commas that stand outside of brackets and braces.
std::vector<std::string> parts_of(const std::string &text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += std::strchr("{[(", c) != nullptr ? 1 : std::strchr("}])", c) != nullptr ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string &part : parts) {
    part = trimmed(part);
  }
  return parts;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    parts.push_back(part);
  }
  return parts;
}

const std::vector<std::string> &special_names() {
  static const std::vector<std::string> names = {"%tid.x",   "%tid.y",   "%tid.z",
                                                 "%ctaid.x", "%ctaid.y", "%ctaid.z",
                                                 "%ntid.x",  "%ntid.y",  "%ntid.z"};
  return names;
}

} // namespace

PtxKernel::PtxKernel(const std::string &module, const std::string &name)
    : PtxKernel(std::make_shared<PtxModule>(PtxModule{module, {}}), name, ".entry ") {}

PtxKernel::PtxKernel(std::shared_ptr<PtxModule> module, const std::string &name,
                     const std::string &before)
    : module_(std::move(module)) {
  const std::string &text = module_->text;
  for (auto at = text.find(name + "("); at != std::string::npos;
       at = text.find(name + "(", at + 1)) {
    const auto line = text.rfind('\n', at) + 1;
    const auto body = text.find("\n{", at);
    const bool is_defined = body != std::string::npos && text.find(';', at) > body;
    if (is_defined && text.substr(line, at - line).find(before) != std::string::npos) {
      read(text, at);
      return;
    }
  }
  throw std::runtime_error("there is no " + before + name);
}

void PtxKernel::read(const std::string &module, std::size_t begin) {
  const auto body = module.find("\n{", begin);
  const auto end = module.find("\n}", begin);
  for (auto at = module.find(".param", begin); at < body; at = module.find(".param", at + 1)) {
    const std::string declared = module.substr(at, module.find_first_of(",)\n", at) - at);
    parameter_number(declared.substr(declared.rfind(' ') + 1));
  }
  own_parameters_ = parameters_.size();
  parameter_number(result_name);
  std::string text = module.substr(body + 2, end - body - 2);
  for (auto comment = text.find("//"); comment != std::string::npos; comment = text.find("//")) {
    text.erase(comment, text.find('\n', comment) - comment);
  }
  for (const std::string &statement : split(text, ';')) {
    add(trimmed(statement));
  }
  for (const auto &[branch, label] : branches_) {
    code_[branch].target = labels_.at(label);
  }
}

std::uint64_t PtxKernel::parameter_number(const std::string &name) {
  const int next = static_cast<int>(parameters_.size());
  return static_cast<std::uint64_t>(parameters_.emplace(name, next).first->second);
}

/// "(retval0), name, (param0, param1)"
void PtxKernel::read_call(Instruction &made, const std::string &text) {
  const auto names_in = [&](const std::string &list) {
    std::vector<std::uint64_t> numbers;
    for (const std::string &name : parts_of(list.substr(1, list.size() - 2))) {
      numbers.push_back(parameter_number(name));
    }
    return numbers;
  };
  std::vector<std::string> parts = parts_of(text);
  if (parts.front().front() == '(') {
    made.results = names_in(parts.front());
    parts.erase(parts.begin());
  }
  if (parts.size() > 1) {
    made.given = names_in(parts[1]);
  }
  std::unique_ptr<PtxKernel> &called = module_->functions[parts.front()];
  if (called == nullptr) {
    called = std::make_unique<PtxKernel>(module_, parts.front(), ".func ");
  }
  made.called = called.get();
}

int PtxKernel::register_number(const std::string &name) {
  return registers_.emplace(name, static_cast<int>(registers_.size())).first->second;
}

PtxKernel::Operand PtxKernel::operand(std::string text) {
  using Kind = Operand::Kind;
  if (text.front() == '{') {
    Operand group{Kind::Group};
    for (const std::string &part : parts_of(text.substr(1, text.size() - 2))) {
      group.group.push_back(register_number(part));
    }
    return group;
  }
  std::int64_t offset = 0;
  if (text.front() == '[') {
    text = text.substr(1, text.size() - 2);
    if (const auto plus = text.find('+'); plus != std::string::npos) {
      offset = std::stoll(text.substr(plus + 1));
      text = text.substr(0, plus);
    }
  }
  if (const auto parameter = parameters_.find(text); parameter != parameters_.end()) {
    return {Kind::Parameter, static_cast<std::uint64_t>(parameter->second), offset};
  }
  const auto special = std::find(special_names().begin(), special_names().end(), text);
  if (special != special_names().end()) {
    return {Kind::Special, static_cast<std::uint64_t>(special - special_names().begin())};
  }
  if (text.front() == '%') {
    return {Kind::Register, static_cast<std::uint64_t>(register_number(text)), offset};
  }
  if (text.starts_with("tilewright_shared")) {
    return {Kind::Shared, 0, offset};
  }
  if (text.starts_with("__local_depot")) {
    return {Kind::Local, 0, offset};
  }
  if (text.starts_with("0f") || text.starts_with("0d")) {
    return {Kind::Number, std::stoull(text.substr(2), nullptr, 16)};
  }
  return {Kind::Number,
          static_cast<std::uint64_t>(text.front() == '-' ? std::stoll(text, nullptr, 0)
                                                         : std::stoull(text, nullptr, 0))};
}

void PtxKernel::add(std::string text) {
  text.erase(0, text.find_first_not_of("{} \t\n")); // around calls
  for (auto colon = text.find(':'); colon != std::string::npos; colon = text.find(':')) {
    labels_[trimmed(text.substr(0, colon))] = code_.size();
    text = trimmed(text.substr(colon + 1));
  }
  if (text.starts_with(".local")) {
    const auto from = text.find('[') + 1;
    local_bytes_ = std::stoul(text.substr(from, text.find(']') - from));
    return;
  }
  if (text.starts_with(".param")) { // of a call
    parameter_number(text.substr(text.find_last_of(" \t") + 1));
  }
  if (text.empty() || text.front() == '.') {
    return;
  }
  Instruction made;
  made.text = text;
  if (text.front() == '@') {
    made.guard_is_negated = text[1] == '!';
    const auto space = text.find_first_of(" \t");
    made.guard = register_number(
        text.substr(made.guard_is_negated ? 2 : 1, space - (made.guard_is_negated ? 2 : 1)));
    text = trimmed(text.substr(space));
  }
  const auto space = text.find_first_of(" \t");
  made.words = split(text.substr(0, space), '.');
  if (made.words[0] == "call") {
    read_call(made, trimmed(text.substr(space)));
  } else if (made.words[0] == "bra") {
    branches_.emplace_back(code_.size(), trimmed(text.substr(space)));
  } else if (space != std::string::npos) {
    for (const std::string &part : parts_of(text.substr(space))) {
      made.operands.push_back(operand(part));
    }
  }
  code_.push_back(std::move(made));
}

} // namespace fake_driver
