export const kokoroFiles = { weights: 'kokoro-quantized.onnx' } as const
