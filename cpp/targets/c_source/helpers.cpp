// What all helpers have, and those that belong to no kind of number.
#include "targets/c_source/helpers.h"

#include "algorithm/size_parameters.h"

namespace tilewright {

std::string filled(std::string text,
                   const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[key, value] : values) {
    const std::string mark = "$" + key;
    for (size_t at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + value.size())) {
      text.replace(at, mark.size(), value);
    }
  }
  return text;
}

std::string CHelpers::need(const std::string &name, const std::function<std::string()> &make) {
  if (known_.insert(name).second) {
    std::string definition = make(); // first those that it calls
    definitions_.push_back(std::move(definition));
  }
  return name;
}

std::string CHelpers::text() const {
  std::string all;
  for (const std::string &definition : definitions_) {
    all += definition + "\n";
  }
  return all;
}

std::string CHelpers::allocate() {
  return need("tw_allocate", [] {
    return std::string(R"(/* Memory for so many elements; NULL where there is none. */
static void *tw_allocate(int64_t count, size_t bytes) {
  if (count > INT64_MAX / 2 / (int64_t)bytes) {
    return NULL;
  }
  return malloc(count <= 0 ? 1 : (size_t)count * bytes);
}
)");
  });
}

std::string CHelpers::count() {
  return need("tw_count", [] {
    return std::string(
        R"(/* The product of extents; too many elements for any memory if it is too large. */
static inline int64_t tw_count(int64_t a, int64_t b) {
  if (a <= 0 || b <= 0) {
    return 0;
  }
  return a > INT64_MAX / b ? INT64_MAX : a * b;
}
)");
  });
}

std::string CHelpers::largest_size() {
  return need("TW_LARGEST_SIZE", [] {
    static_assert(largest_size_parameter == std::int64_t{1} << 40);
    return std::string("/* Places in memory are counted in 64 bits. */\n"
                       "#define TW_LARGEST_SIZE (INT64_C(1) << 40)\n");
  });
}

std::string CHelpers::unroll() {
  return need("TW_UNROLL", [] {
    return std::string(R"(#define TW_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TW_UNROLL(count) TW_PRAGMA(clang loop unroll_count(count))
#elif defined(__GNUC__) && __GNUC__ >= 8
#define TW_UNROLL(count) TW_PRAGMA(GCC unroll count)
#else
#define TW_UNROLL(count)
#endif
)");
  });
}

} // namespace tilewright
