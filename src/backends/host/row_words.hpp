// Packed spikes of several short rows at once: a tile across batch rows is packed as one row, from which the words of
// the rows are cut. Integer arithmetic alone, so every level gives the same words. Included by host kernels only.
#ifndef SYNFIRE_BACKENDS_HOST_ROW_WORDS_HPP
#define SYNFIRE_BACKENDS_HOST_ROW_WORDS_HPP

#include <backends/host/host_storage.hpp>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

class RowWords {
 public:
  // Words that packed() may read after those of a tile.
#if defined(__AVX512F__)
  static constexpr int group = 16;
#elif defined(__AVX2__)
  static constexpr int group = 8;
#else
  static constexpr int group = 1;
#endif

  // Sets `n_words` words of rows of `n_neurons`, beginning with the word of neuron `first` (a multiple of 32) of a row.
  void set(int64_t n_neurons, int64_t first, int n_words) {
    n_words_ = n_words;
    if (n_neurons < 32) {  // each row is a word
      const int bits = static_cast<int>(n_neurons);
      const uint32_t mask = (uint32_t{1} << bits) - 1;
      for (int i = 0; i < n_words; ++i) {
        start_[i] = i * bits;
        mask_[i] = mask;
      }
    } else {
      int start = 0;
      for (int i = 0; i < n_words; ++i) {
        const int64_t left = n_neurons - first;
        const int bits = left < 32 ? static_cast<int>(left) : 32;
        start_[i] = start;
        mask_[i] = bits == 32 ? ~uint32_t{0} : (uint32_t{1} << bits) - 1;
        start += bits;
        first = left > 32 ? first + 32 : 0;
      }
    }
    for (int i = n_words; i < (n_words + group - 1) / group * group; ++i) {  // the rest of the last group
      start_[i] = start_[n_words - 1];
      mask_[i] = 0;
    }
  }

  // Writes the words from the tile's own packed bits. `packed` has room for group + 1 more words of any value.
  void write(uint32_t* __restrict words, const uint32_t* __restrict packed) const {
    int i = 0;
    for (; i + group <= n_words_; i += group) write_group(words + i, packed, i, group);
    if (i < n_words_) write_group(words + i, packed, i, n_words_ - i);
  }

 private:
  // A word is cut from two neighbours. The words that a group needs are in one vector, so that a permutation finds
  // them; gathering them from memory takes several times as long.
  SYNFIRE_MODEL_FN void write_group(uint32_t* words, const uint32_t* packed, int i, [[maybe_unused]] int count) const {
#if defined(__AVX512F__)
    // (With masks, because g++ 12 warns of an uninitialised value inside the unmasked intrinsics.)
    constexpr __mmask16 all = 0xFFFF;
    const int base = start_[i] >> 5;
    const uint32_t* const from = packed + base;
    const __m512i start = _mm512_loadu_si512(start_ + i);
    const __m512i index = _mm512_sub_epi32(_mm512_maskz_srai_epi32(all, start, 5), _mm512_set1_epi32(base));
    const __m512i shift = _mm512_and_si512(start, _mm512_set1_epi32(31));
    const __m512i low = _mm512_maskz_permutexvar_epi32(all, index, _mm512_loadu_si512(from));
    const __m512i high = _mm512_maskz_permutexvar_epi32(all, index, _mm512_loadu_si512(from + 1));
    const __m512i up = _mm512_sub_epi32(_mm512_set1_epi32(32), shift);
    const __m512i bits =
        _mm512_or_si512(_mm512_maskz_srlv_epi32(all, low, shift), _mm512_maskz_sllv_epi32(all, high, up));
    _mm512_mask_storeu_epi32(words, static_cast<__mmask16>(all >> (group - count)),
                             _mm512_and_si512(bits, _mm512_loadu_si512(mask_ + i)));
#elif defined(__AVX2__)
    const auto load = [](const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); };
    const int base = start_[i] >> 5;
    const uint32_t* const from = packed + base;
    const __m256i start = load(start_ + i);
    const __m256i index = _mm256_sub_epi32(_mm256_srai_epi32(start, 5), _mm256_set1_epi32(base));
    const __m256i shift = _mm256_and_si256(start, _mm256_set1_epi32(31));
    const __m256i low = _mm256_permutevar8x32_epi32(load(from), index);
    const __m256i high = _mm256_permutevar8x32_epi32(load(from + 1), index);
    const __m256i bits = _mm256_or_si256(_mm256_srlv_epi32(low, shift),
                                         _mm256_sllv_epi32(high, _mm256_sub_epi32(_mm256_set1_epi32(32), shift)));
    const __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    _mm256_maskstore_epi32(reinterpret_cast<int*>(words), wanted, _mm256_and_si256(bits, load(mask_ + i)));
#else
    uint64_t two = 0;
    __builtin_memcpy(&two, packed + (start_[i] >> 5), sizeof two);  // little-endian, as every platform of the library
    words[0] = static_cast<uint32_t>(two >> (start_[i] & 31)) & mask_[i];
#endif
  }

  int n_words_;
  int32_t start_[max_tile + group];  // in bits
  uint32_t mask_[max_tile + group];
};

}  // namespace
}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

#endif
