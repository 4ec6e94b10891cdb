#include "loops/line.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(Verify, NamesWhatIsWrong) {
  const auto message = [](Line &line) {
    try {
      verify_kernel(line.kernel);
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Internal);
      return std::string(error.what());
    }
    return std::string();
  };
  Line line;
  line.kernel.body = Line::y(variable(9, "ghost"), Line::x(integer(0)));
  EXPECT_NE(message(line).find("ghost"), std::string::npos) << message(line);
  line.kernel.body = store(1, "Y", {}, Line::x(integer(0)));
  EXPECT_NE(message(line).find("rank"), std::string::npos) << message(line);
  line.kernel.body = Line::y(integer(0), integer(1));
  EXPECT_NE(message(line).find("type"), std::string::npos) << message(line);
  line.kernel.body = Line::y(ramp(integer(0), 1, 4), broadcast(Line::x(integer(0)), 8));
  EXPECT_NE(message(line).find("lanes"), std::string::npos) << message(line);
  line.kernel.body = assign_local(5, "t", Line::x(integer(0)));
  EXPECT_NE(message(line).find("declared"), std::string::npos) << message(line);
}

} // namespace
} // namespace tilewright::test
