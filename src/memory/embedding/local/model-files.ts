import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// A package holds JavaScript, and may lie where nobody can write.
const isPackage = import.meta.url.endsWith('.js')
const runtime = isPackage
  ? join(homedir(), '.cache', 'familiar')
  : fileURLToPath(new URL('../../../../.runtime', import.meta.url))

/** Where `scripts/launcher/embedding-model.cjs` puts the model. */
export const localModelFolder = join(runtime, 'models', 'bge-small-en-v1.5')

export const modelFiles = { weights: 'model_quantized.onnx', tokenizer: 'tokenizer.json' } as const
