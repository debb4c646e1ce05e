// speech.cpp - see speech.hpp.
//
// SPDX-License-Identifier: MIT
#include "speech.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "wav.h"

#if defined(_WIN32)
#include <process.h>
#else
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace digits {
namespace {

// Runs a program without a shell, so that no name can be a command. Its exit status, or -1 if there is no such program.
int run(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
#if defined(_WIN32)
  return static_cast<int>(_spawnvp(_P_WAIT, argv[0], argv.data()));
#else
  pid_t child = 0;
  int status = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
#endif
}

// Cuts off what is below a hundredth of the peak at both ends.
void trim(std::vector<float>& samples) {
  float peak = 0;
  for (const float sample : samples) peak = std::max(peak, std::fabs(sample));
  const auto sounds = [peak](float sample) { return std::fabs(sample) > 0.01F * peak; };
  samples.erase(std::find_if(samples.rbegin(), samples.rend(), sounds).base(), samples.end());
  samples.erase(samples.begin(), std::find_if(samples.begin(), samples.end(), sounds));
}

}  // namespace

Speech speak(const Voice& voice, const Manner& manner, const char* word, const std::string& scratch) {
  const int pitch = std::clamp(voice.pitch + manner.pitch, 0, 99), speed = voice.speed * manner.speed / 100;
  const int status = run({"espeak-ng", "-v", std::string(voice.accent) + "+" + voice.speaker, "-p",
                          std::to_string(pitch), "-s", std::to_string(speed), "-w", scratch, word});
  if (status < 0) throw std::runtime_error("espeak-ng cannot be run: is it installed?");
  if (status > 0) throw std::runtime_error("espeak-ng fails with exit status " + std::to_string(status));
  wav sound{};
  const bool good = wav_read(scratch.c_str(), &sound);
  std::remove(scratch.c_str());
  if (!good) throw std::runtime_error("espeak-ng's sound cannot be read");
  Speech result;
  result.samples.assign(sound.samples, sound.samples + sound.n_samples);
  result.rate = sound.rate;
  wav_free(&sound);
  trim(result.samples);
  if (result.samples.empty()) throw std::runtime_error(std::string("espeak-ng says nothing for ") + word);
  return result;
}

}  // namespace digits
