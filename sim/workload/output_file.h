// A text file that is whole or not there: gzip where its path ends in ".gz", standard output for "-". Until it is
// closed it has another name beside the path, unless that is a pipe or a device.
//
// Owner: who writes. Single thread.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace baton::sim {

class OutputFile final {
 public:
  // Opens it, empty. Throws Error(bad_file) when it cannot be written.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // what was not closed is gone, and an older file of that name still there

  void write(std::string_view text);  // throws Error(bad_file)
  void close();                       // throws Error(bad_file); nothing may be written afterwards

 private:
  bool finish();  // lets go of the handle; false: not everything was written
  [[noreturn]] void fail();

  std::string path_;
  std::string made_;  // what is written, until it is whole
  std::FILE* plain_ = nullptr;
  void* packed_ = nullptr;  // zlib's gzFile, which this header need not know
};

}  // namespace baton::sim
