import { fileURLToPath } from 'node:url'

/** Where `scripts/launcher/embedding-model.cjs` puts the model. */
export const localModelFolder = fileURLToPath(new URL('../../../../.runtime/models/bge-small-en-v1.5', import.meta.url))

export const modelFiles = { weights: 'model_quantized.onnx', tokenizer: 'tokenizer.json' } as const
