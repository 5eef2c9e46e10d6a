#include "model/engine/forward.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention.h"
#include "kernels/ops.h"
#include "runtime/check.h"

namespace baton {
namespace {

using kernels::AttentionSequence;
using kernels::Lane;

kernels::KvLayoutView view_of(const KvLayout& layout) noexcept {
  const auto type = layout.type == KvType::f16 ? kernels::KvType::f16 : kernels::KvType::f32;
  return {layout.layers, layout.kv_heads, layout.head_dim, layout.page_tokens, type, layout.page_bytes()};
}

// One forward pass. Buffers are scratch of the lane; every one is (rows, width), row-major, f32.
class Pass final {
 public:
  Pass(Lane& lane, const Weights& weights, const KvLayout& layout, Profile* profile)
      : lane_(lane),
        weights_(weights),
        shape_(weights.shape()),
        layout_(view_of(layout)),
        profile_(profile),
        eps_(static_cast<float>(shape_.rms_eps)),
        qkv_width_(shape_.q_rows() + 2 * std::size_t{shape_.kv_rows()}) {}

  void run(std::span<const ForwardSequence> sequences, const LogitsSink& sink) {
    lay_out(sequences);
    take_buffers();
    embed_tokens(sequences);
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
      project(layer);
      if (layer + 1 == shape_.layers) {
        keep_wanted_rows();
      }
      if (rows_ == 0) {
        return;  // only keys and values were wanted, and the last ones are stored
      }
      attend(layer);
      feed_forward(layer);
    }
    hand_out_logits(sink);
  }

 private:
  float* floats(std::size_t count) { return reinterpret_cast<float*>(lane_.scratch(count * sizeof(float))); }

  void lay_out(std::span<const ForwardSequence> sequences) {
    for (const ForwardSequence& sequence : sequences) {
      const auto count = static_cast<std::uint32_t>(sequence.tokens.size());
      attention_.push_back(
          {sequence.arena, sequence.pages, sequence.position, count, static_cast<std::uint32_t>(rows_)});
      rows_ += count;
      if (sequence.wants_logits) {
        const auto last = static_cast<std::uint32_t>(rows_ - 1);
        wanted_.push_back({sequence.arena, sequence.pages, sequence.position + count - 1, 1, last});
      }
    }
  }

  void take_buffers() {
    x_ = floats(rows_ * shape_.hidden);
    qkv_ = floats(rows_ * qkv_width_);
    attended_ = floats(rows_ * shape_.q_rows());
    hidden_ = floats(rows_ * shape_.ffn);
    cosines_ = floats(rows_ * (shape_.head_dim / 2));
    sines_ = floats(rows_ * (shape_.head_dim / 2));
  }

  void embed_tokens(std::span<const ForwardSequence> sequences) {
    const ProfileScope timed(profile_, Operator::embed);
    const std::size_t half = shape_.head_dim / 2;
    std::vector<TokenId> tokens;
    tokens.reserve(rows_);
    for (const ForwardSequence& sequence : sequences) {
      for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
        const auto position = static_cast<std::uint32_t>(sequence.position + i);
        std::copy_n(weights_.rope_cos(position), half, cosines_ + tokens.size() * half);
        std::copy_n(weights_.rope_sin(position), half, sines_ + tokens.size() * half);
        tokens.push_back(sequence.tokens[i]);
      }
    }
    kernels::embed(lane_, weights_.embedding(), tokens, x_);
    lane_.checkpoint();
  }

  // Queries, keys and values of all rows; keys and values go into the pages.
  void project(std::uint32_t index) {
    const LayerWeights& layer = weights_.layer(index);
    {
      const ProfileScope timed(profile_, Operator::qkv);
      kernels::norm_matmul(lane_, x_, layer.attention_norm, eps_, rows_, layer.qkv, layer.qkv_bias, qkv_, qkv_width_);
    }
    lane_.checkpoint();
    float* k = qkv_ + shape_.q_rows();
    const float* v = k + shape_.kv_rows();
    if (layer.q_norm != nullptr) {
      const ProfileScope timed(profile_, Operator::norm);
      kernels::rms_norm_heads(lane_, qkv_, qkv_width_, layer.q_norm, eps_, rows_, shape_.heads, shape_.head_dim);
      kernels::rms_norm_heads(lane_, k, qkv_width_, layer.k_norm, eps_, rows_, shape_.kv_heads, shape_.head_dim);
    }
    {
      // The heads of q and k lie side by side, so one call turns both.
      const ProfileScope timed(profile_, Operator::rope);
      kernels::rope(lane_, qkv_, qkv_width_, rows_, shape_.heads + shape_.kv_heads, shape_.head_dim, cosines_, sines_);
    }
    const ProfileScope timed(profile_, Operator::store);
    kernels::store_kv(lane_, layout_, index, attention_, k, qkv_width_, v, qkv_width_);
  }

  // Past the last keys and values only the rows that are sampled matter: moves them to the front, drops the others.
  void keep_wanted_rows() {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const std::size_t row = wanted_[i].first_row;
      wanted_[i].first_row = static_cast<std::uint32_t>(i);
      if (row != i) {
        std::copy_n(x_ + row * shape_.hidden, shape_.hidden, x_ + i * shape_.hidden);
        std::copy_n(qkv_ + row * qkv_width_, shape_.q_rows(), qkv_ + i * qkv_width_);
      }
    }
    attention_ = wanted_;
    rows_ = wanted_.size();
  }

  void attend(std::uint32_t index) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
    {
      const ProfileScope timed(profile_, Operator::attention);
      kernels::attention(lane_, layout_, index, attention_, qkv_, qkv_width_, shape_.heads, scale, attended_,
                         shape_.q_rows());
    }
    lane_.checkpoint();
    {
      const ProfileScope timed(profile_, Operator::output);
      kernels::matmul(lane_, attended_, rows_, weights_.layer(index).output, nullptr, x_, shape_.hidden, true);
    }
    lane_.checkpoint();
  }

  void feed_forward(std::uint32_t index) {
    const LayerWeights& layer = weights_.layer(index);
    {
      const ProfileScope timed(profile_, Operator::gate_up);
      kernels::gate_up_silu(lane_, x_, layer.ffn_norm, eps_, rows_, layer.gate_up, hidden_);
    }
    lane_.checkpoint();
    {
      const ProfileScope timed(profile_, Operator::down);
      kernels::matmul(lane_, hidden_, rows_, layer.down, nullptr, x_, shape_.hidden, true);
    }
    lane_.checkpoint();
  }

  void hand_out_logits(const LogitsSink& sink) {
    float* logits = floats(std::min(rows_, kLogitsRowsMax) * shape_.vocab);
    for (std::size_t first = 0; first < rows_; first += kLogitsRowsMax) {
      const std::size_t count = std::min(kLogitsRowsMax, rows_ - first);
      {
        const ProfileScope timed(profile_, Operator::head);
        kernels::norm_matmul(lane_, x_ + first * shape_.hidden, weights_.final_norm(), eps_, count, weights_.head(),
                             nullptr, logits, shape_.vocab);
      }
      lane_.checkpoint();
      const ProfileScope timed(profile_, Operator::sampling);
      sink(first, count, logits);
    }
  }

  Lane& lane_;
  const Weights& weights_;
  const ModelShape& shape_;
  const kernels::KvLayoutView layout_;
  Profile* profile_;
  const float eps_;
  const std::size_t qkv_width_;

  std::size_t rows_ = 0;
  std::vector<AttentionSequence> attention_;
  std::vector<AttentionSequence> wanted_;  // the rows with logits, each as a sequence of one row
  float* x_ = nullptr;                     // (rows, hidden): the residual stream
  float* qkv_ = nullptr;                   // (rows, q_rows + 2 * kv_rows)
  float* attended_ = nullptr;              // (rows, q_rows)
  float* hidden_ = nullptr;                // (rows, ffn)
  float* cosines_ = nullptr;               // (rows, head_dim / 2)
  float* sines_ = nullptr;                 // (rows, head_dim / 2)
};

}  // namespace

void forward(Lane& lane, const Weights& weights, const KvLayout& layout, std::span<const ForwardSequence> sequences,
             const LogitsSink& sink, Profile* profile) {
  BATON_CHECK(lane.isa() == weights.isa(), static_cast<int>(lane.isa()), static_cast<int>(weights.isa()));
  const kernels::ScratchScope scratch(lane);
  Pass(lane, weights, layout, profile).run(sequences, sink);
}

std::size_t forward_scratch_bytes(const ModelShape& shape, std::size_t rows, std::size_t wanted) noexcept {
  const std::size_t per_row = std::size_t{shape.hidden} + 2 * std::size_t{shape.q_rows()} +
                              2 * std::size_t{shape.kv_rows()} + shape.ffn + shape.head_dim;
  return sizeof(float) * (rows * per_row + std::min(wanted, kLogitsRowsMax) * shape.vocab);
}

}  // namespace baton
