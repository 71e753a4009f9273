export const whisperFiles = {
  encoder: 'encoder_model_quantized.onnx',
  decoder: 'decoder_model_merged_quantized.onnx',
  vocabulary: 'vocab.json',
  rules: 'generation_config.json',
} as const
