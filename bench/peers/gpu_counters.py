"""One call of each attention kernel, for Nsight Compute to count what it does on a GPU.

    ncu --clock-control none --csv --page raw -k 'regex:forward_kernel|backward_kernel|flash_fwd|flash_bwd_dq' \\
      --metrics gpu__time_duration.sum,smsp__inst_executed.sum,sm__inst_executed_pipe_tensor.sum,\\
smsp__issue_active.avg.pct_of_peak_sustained_active,\\
smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio,\\
smsp__average_warps_issue_stalled_wait_per_issue_active.ratio \\
      python bench/peers/gpu_counters.py

bfloat16, batch 2, 16 heads, n = 4096; for each head size and mask, FlashAttention-2 forward and backward, then this
library's forward pass with the entropy, with every moment, and once more with the entropy for its backward pass.
"""

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import isentropic


def call_each(q, k, v, causal):
    gradient = torch.randn_like(q)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        output = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.autograd.grad(output, (q, k, v), gradient)
    for statistics in ("entropy", ("entropy", "score_variance", "collision"), "entropy"):
        output, aux = isentropic.attention(q, k, v, is_causal=causal, statistics=statistics, return_aux=True)
    torch.autograd.grad((output, aux.entropy), (q, k, v), (gradient, torch.randn_like(aux.entropy)))


for d in (64, 128):
    inputs = [torch.randn(2, 16, 4096, d, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    for causal in (False, True):
        call_each(*inputs, causal)
torch.cuda.synchronize()
