// film.cpp - see film.hpp.
//
// SPDX-License-Identifier: MIT
#include "film.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "eye.hpp"
#include "hash.hpp"

namespace gestures {
namespace {

constexpr std::uint32_t look_microseconds = 4000;
constexpr std::uint32_t around = 240000;  // microseconds before and after the middle: a row and what moves it

Film film(const Scene& scene) {
  Film made{scene, {}, around};
  Eye eye(scene.noise, scene.seed);
  Image image;
  for (std::uint32_t now = 0; now <= 2 * around; now += look_microseconds) {
    const double since_middle = (static_cast<double>(now) - around) * 1e-6;
    draw_hand(scene.shape, pose_at(scene, duration(scene) / 2 + since_middle), scene.light, image);
    eye.look(image, now, made.events);
  }
  return made;
}

}  // namespace

std::vector<Film> make_films(std::size_t per_motion, bool unseen, std::uint64_t seed, std::int32_t n_threads) {
  // All scenes are drawn before the first is filmed, so that it does not matter which thread films which.
  learning::Random random(2 * seed + (unseen ? 1 : 0));
  std::vector<Film> films(per_motion * names.size());
  for (std::size_t i = 0; i < films.size(); ++i)
    films[i].scene = draw_scene(static_cast<Motion>(i % names.size()), unseen, random);

  if (n_threads == 0) n_threads = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < films.size(); i = next++) films[i] = film(films[i].scene);
    } catch (const std::exception&) {
      failed = true;
    }
  };
  std::vector<std::thread> threads;
  for (std::int32_t i = 1; i < n_threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failed) throw std::runtime_error("no memory for the films");
  return films;
}

void exchange_times(std::vector<Film>& films, std::uint64_t seed) {
  constexpr std::uint64_t times = 0xFFFFFFFFU;
  learning::Random random(seed);
  for (Film& film : films)
    for (std::size_t i = film.events.size(); i > 1; --i) {
      std::uint64_t &one = film.events[i - 1], &other = film.events[random.below(static_cast<std::uint32_t>(i))];
      const std::uint64_t different = (one ^ other) & times;
      one ^= different;
      other ^= different;
    }
}

std::uint64_t hash_films(const std::vector<Film>& films) {
  learning::Hash hash;
  for (const Film& one : films)
    for (const std::uint64_t event : one.events) {
      hash.add_word(static_cast<std::uint32_t>(event));
      hash.add_word(static_cast<std::uint32_t>(event >> 32));
    }
  return hash.value();
}

}  // namespace gestures
