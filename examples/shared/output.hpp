#pragma once
/// \file
/// What all programs do with their answers: print them, or write them to a file, whole or not at all.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace berth_program {

namespace detail {

/// Writes all of it and closes. \param f  may be null
[[nodiscard]] inline bool write_and_close(std::FILE* f, std::string_view text) {
  if (f == nullptr) return false;
  const bool ok = std::fwrite(text.data(), 1, text.size(), f) == text.size();
  return std::fclose(f) == 0 && ok;
}

}  // namespace detail

/// Writes a file. A regular file, and one that is not there yet, is written under another name beside it and then takes
/// the name, so that a full disk or an interrupted run leaves what was there; it keeps its permissions, and behind a
/// link it is the link's target that is replaced. Devices, pipes, and files in a folder that takes no new ones, are
/// written directly. \return whether all of it was written
[[nodiscard]] inline bool write_file(const std::string& path, std::string_view text) {
  namespace fs = std::filesystem;
  std::error_code wrong;
  const auto direct = [&] { return detail::write_and_close(std::fopen(path.c_str(), "wb"), text); };
  fs::path target{path};
  const fs::file_status now = fs::status(target, wrong);
  // What a descriptor is open for must stay that file, and a file behind standard output gets both one after the other.
  if (path == "/dev/stdout")
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (fs::exists(now) && !fs::is_regular_file(now)) return direct();
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return direct();
  // What the owner made unwritable stays, though the folder would let it be replaced.
  if (fs::exists(now) && ::access(path.c_str(), W_OK) != 0) return false;
  if (fs::is_symlink(fs::symlink_status(target, wrong))) {
    if (!fs::exists(now)) return direct();
    target = fs::canonical(target, wrong);
    if (wrong) return direct();
  }
  const fs::path beside = target.parent_path() / (".berth-" + std::to_string(::getpid()) + ".part");
  std::FILE* const f = std::fopen(beside.c_str(), "wbx");
  if (f == nullptr) return (errno == EACCES || errno == EPERM) && fs::exists(now) && direct();
  bool ok = detail::write_and_close(f, text);
  if (ok && fs::exists(now)) fs::permissions(beside, now.permissions(), wrong), ok = !wrong;
  if (ok) fs::rename(beside, target, wrong), ok = !wrong;
  if (!ok) fs::remove(beside, wrong);
  return ok;
}

/// Whether `write_file` has a chance. Creates nothing.
[[nodiscard]] inline bool can_write(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code wrong;
  const fs::file_status now = fs::status(path, wrong);
  if (fs::exists(now)) return !fs::is_directory(now) && ::access(path.c_str(), W_OK) == 0;
  if (fs::is_symlink(fs::symlink_status(path, wrong))) return true;  // a link to what is not there yet
  const fs::path folder = fs::path{path}.parent_path();
  return fs::is_directory(folder.empty() ? "." : folder, wrong) &&
         ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

/// Sees that what was printed has left; a full disk behind standard output is an error. \param program  for the message
/// \return `code`, or `failed`
[[nodiscard]] inline int printed(const char* program, int code, int failed) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "%s: cannot write to standard output\n", program);
  return failed;
}

}  // namespace berth_program
