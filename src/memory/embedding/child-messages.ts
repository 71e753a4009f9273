import { join } from 'node:path'
import { runtimeFolder } from '../../base/files.ts'

/** To the child with the model: one text at a time, the next one after the answer. */
export interface ToEmbeddingProcess {
  text: string
}

/** From the child: first whether it can work, then an answer per text. */
export type FromEmbeddingProcess =
  | { type: 'ready' }
  /** It ends by itself after this. */
  | { type: 'unusable'; message: string }
  | { type: 'embedded'; vector: Float32Array }

/** The folder in which `scripts/launcher/embedding-model.cjs` puts the model. */
export const localModelFolder = join(runtimeFolder, 'models', 'bge-small-en-v1.5')

export const modelFiles = { weights: 'model_quantized.onnx', tokenizer: 'tokenizer.json' } as const
