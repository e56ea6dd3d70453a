# The layers: folders of src/ and what each may include. For every line, CMake makes a target that sees the headers of
# these layers and no others; tests/layers/check_layers.py compares the lines with the includes, so that no entry is
# missing or unnecessary. A new folder needs a line.
#
#   layer(FOLDER LIBRARY library [USES layer...] [HEADERS public header...] [PACKAGES third party...] [RECURSIVE])
#
# HEADERS are those of include/isentropic that belong to the layer (a name, or a folder ending in /). RECURSIVE: the
# subfolders belong to the layer as well.

# ---- isentropic: attention and losses, without run-time dependencies ----
layer(base LIBRARY isentropic HEADERS error executor export host_device tensor version)
layer(softmax LIBRARY isentropic USES base HEADERS entropy_solver key_groups softmax_record statistics)
layer(attention/problem LIBRARY isentropic USES base softmax HEADERS attention mask row_state scale score_map
      score_terms vocabulary PACKAGES json)
# Shared by devices and bindings: the table of passes, partial results, row constants, the end of a row.
layer(attention/passes LIBRARY isentropic USES base softmax attention/problem)
layer(attention/cpu/kernels LIBRARY isentropic USES base attention/problem HEADERS instruction_sets
      PACKAGES highway)
layer(attention/cpu/tiles LIBRARY isentropic USES base attention/problem attention/passes attention/cpu/kernels)
layer(attention/cpu/streaming LIBRARY isentropic USES softmax attention/problem attention/passes
      attention/cpu/kernels attention/cpu/tiles)
layer(attention/cpu/whole_rows LIBRARY isentropic USES attention/problem attention/passes attention/cpu/kernels
      attention/cpu/tiles)
layer(attention/cpu LIBRARY isentropic USES attention/passes attention/cpu/streaming attention/cpu/whole_rows)
layer(attention LIBRARY isentropic USES base softmax attention/problem attention/passes attention/cpu
      HEADERS hierarchical_attention)
# Built if ISENTROPIC_CUDA is on.
layer(attention/cuda LIBRARY isentropic_cuda USES softmax PACKAGES cuda)
layer(losses LIBRARY isentropic USES base softmax attention/problem attention/passes HEADERS softmax_loss)
# Built if ISENTROPIC_CUDA is on.
layer(losses/cuda LIBRARY isentropic_cuda USES attention/cuda PACKAGES cuda)

# ---- isentropic_information: closed forms and estimators ----
# Also used by scans.
layer(information/distributions LIBRARY isentropic_distributions USES base
      HEADERS information/attention_heads information/attention_matrices information/distribution
      information/layer_information information/noise_bounds information/table
      PACKAGES eigen)
layer(information LIBRARY isentropic_information USES base softmax information/distributions HEADERS information/
      PACKAGES boost)
layer(theory LIBRARY isentropic_information USES base softmax attention/problem information/distributions
      HEADERS theory/ PACKAGES eigen boost)

# ---- isentropic_scan: the results of scans, in the program and in the operators for PyTorch ----
layer(report LIBRARY isentropic_scan PACKAGES fmt json)
# What a model's attention does over a text, from the statistics of any framework.
layer(scan LIBRARY isentropic_scan USES base information/distributions report PACKAGES fmt json)
# Layers in the information plane while a network learns, from the points of any framework.
layer(plane LIBRARY isentropic_scan USES base information/distributions report PACKAGES fmt json)

# ---- isentropic_experiments: the parts of the program ----
layer(io LIBRARY isentropic_experiments USES base information/distributions PACKAGES fmt json zlib)
layer(checkpoint LIBRARY isentropic_experiments USES base io PACKAGES json)
layer(tokenizer LIBRARY isentropic_experiments USES base io PACKAGES icu json pcre2)
layer(experiments/tools LIBRARY isentropic_experiments USES base attention/problem information/distributions)
layer(experiments/lengths LIBRARY isentropic_experiments USES base attention/problem experiments/tools report
      PACKAGES fmt json)
layer(experiments/noise LIBRARY isentropic_experiments USES base information/distributions theory experiments/tools
      report PACKAGES fmt json)
layer(experiments/sparsity LIBRARY isentropic_experiments USES base attention/problem information/distributions theory
      experiments/tools report PACKAGES fmt json)
layer(experiments/bottleneck LIBRARY isentropic_experiments USES base information report PACKAGES fmt json)
layer(experiments/mutual_information LIBRARY isentropic_experiments USES base information/distributions information io
      PACKAGES fmt json)
layer(bench LIBRARY isentropic_experiments USES attention/problem attention/cpu/kernels PACKAGES json)
layer(ledger LIBRARY isentropic_experiments RECURSIVE USES base attention/problem attention losses
      information/distributions information theory report experiments/tools experiments/lengths experiments/noise
      experiments/sparsity PACKAGES boost fmt json)

# ---- the program ----
layer(cli/tools LIBRARY isentropic_experiments USES base io PACKAGES cli11 fmt json)
# The command verify, in both programs.
layer(cli/ledger LIBRARY isentropic_experiments USES ledger cli/tools PACKAGES cli11 fmt json)
layer(cli LIBRARY isentropic-cli USES base attention/problem attention/cpu/kernels io bench experiments/lengths
      experiments/noise experiments/sparsity experiments/bottleneck experiments/mutual_information cli/tools cli/ledger
      PACKAGES cli11 fmt json)

# ---- isentropic_torch: the operators for PyTorch ----
layer(pytorch LIBRARY isentropic_torch USES base softmax attention/problem attention/passes attention
      attention/cpu/kernels losses HEADERS pytorch/ PACKAGES torch)
# Used on devices without kernels.
layer(pytorch/fallback LIBRARY isentropic_torch USES attention/problem attention/passes attention losses
      pytorch PACKAGES torch)

# Scans for Python.
layer(pytorch/scan LIBRARY isentropic_torch USES attention/problem scan pytorch PACKAGES json torch)
# The information plane for Python.
layer(pytorch/plane LIBRARY isentropic_torch USES information/distributions plane pytorch PACKAGES json torch)

# Estimators and closed forms for Python, built if ISENTROPIC_INFORMATION is on.
layer(pytorch/information LIBRARY isentropic_torch_information USES base attention/problem information/distributions
      information theory pytorch PACKAGES torch)

# Built if ISENTROPIC_CUDA is on.
layer(scan/cuda LIBRARY isentropic_torch_cuda USES scan PACKAGES cuda)
layer(pytorch/cuda LIBRARY isentropic_torch_cuda USES softmax attention/problem attention/passes attention/cuda
      losses losses/cuda scan scan/cuda pytorch pytorch/scan PACKAGES cuda torch)

# ---- isentropic_models: networks on libtorch ----
layer(model LIBRARY isentropic_models USES base softmax attention/problem io pytorch checkpoint PACKAGES json torch)
# Trains and measures networks.
layer(lab LIBRARY isentropic_models USES base attention/problem theory io report scan checkpoint tokenizer pytorch model
      PACKAGES json torch)
# Networks that move through the information plane as they learn.
layer(lab/plane LIBRARY isentropic_models USES base information/distributions io plane pytorch model lab
      PACKAGES torch)
# Language models beyond their training length.
layer(lab/length LIBRARY isentropic_models USES base theory checkpoint io report pytorch model lab
      PACKAGES fmt json torch)
# Retrieval of one decisive token among many, beyond the training lengths.
layer(lab/retrieval LIBRARY isentropic_models USES base attention/problem report model lab PACKAGES fmt json torch)
# The variational bottleneck.
layer(lab/vib LIBRARY isentropic_models USES base information report pytorch model lab PACKAGES fmt json torch)
# What contrastive losses know and how they arrange embeddings.
layer(lab/contrast LIBRARY isentropic_models USES base report pytorch model lab PACKAGES fmt json torch)
# Entropy while language models learn, and the effect of changing it.
layer(lab/dynamics LIBRARY isentropic_models USES base report tokenizer model lab PACKAGES fmt json torch)
# Encoder and decoder: which attention becomes sharp.
layer(lab/seq2seq LIBRARY isentropic_models USES base report pytorch model lab PACKAGES fmt json torch)
# Text that attends to an image.
layer(lab/grounding LIBRARY isentropic_models USES base report pytorch model lab PACKAGES fmt json torch)
# Images at resolutions other than those of training.
layer(lab/resolution LIBRARY isentropic_models USES base report pytorch model lab PACKAGES fmt json torch)
# The ledger's checks on trained transformers.
layer(lab/ledger LIBRARY isentropic_models USES base attention/problem ledger pytorch model lab PACKAGES fmt torch)

# ---- isentropic-torch: the commands that need libtorch ----
layer(cli/models LIBRARY isentropic-torch USES report scan plane checkpoint tokenizer cli/tools cli/ledger model lab
      lab/length lab/plane lab/retrieval lab/vib lab/contrast lab/dynamics lab/seq2seq lab/grounding lab/resolution
      lab/ledger PACKAGES cli11 fmt json)
