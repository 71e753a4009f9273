import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { parseAnyJson } from '../../../base/json.ts'
import { readBundledText } from '../../../base/text-file.ts'
import { toUnitVector } from '../unit-vector.ts'
import { modelFiles } from './model-files.ts'
import { createWordPieces } from './word-pieces.ts'

/** bge-small-en-v1.5 in this process: some 150 MB. */
export interface BgeModel {
  embed(text: string): Promise<Float32Array>
}

/** Throws where a file is missing or is not what it should be. */
export async function loadBgeModel(folder: string): Promise<BgeModel> {
  const wordPieces = createWordPieces(readVocabulary(join(folder, modelFiles.tokenizer)))
  const session = await InferenceSession.create(join(folder, modelFiles.weights), {
    // Measured on two cores: a second thread makes every text slower.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // Errors only: nobody reads what it prints.
    logSeverityLevel: 3,
  })

  /** A point for each word piece, one after the other. One text at a time: beside a longer one it would come out differently. */
  async function readText(text: string): Promise<{ points: Float32Array; dimensions: number }> {
    const numbers = wordPieces.encode(text)
    const shape = [1, numbers.length]
    const { last_hidden_state: state } = await session.run({
      input_ids: new Tensor('int64', BigInt64Array.from(numbers, BigInt), shape),
      attention_mask: new Tensor('int64', new BigInt64Array(numbers.length).fill(1n), shape),
      token_type_ids: new Tensor('int64', new BigInt64Array(numbers.length), shape),
    })
    if (!state) throw new Error('The model gave no last_hidden_state')
    return { points: state.data, dimensions: state.dims[2] ?? 0 }
  }

  return {
    async embed(text) {
      const { points, dimensions } = await readText(text)
      // The first mark stands for the whole text: so this model was trained.
      return toUnitVector(points.subarray(0, dimensions))
    },
  }
}

function readVocabulary(path: string): Map<string, number> {
  const parsed = parseAnyJson(readBundledText(pathToFileURL(path)))
  if (!parsed.ok) throw new Error(`${path} is damaged: ${parsed.message}`)
  // Its hash was checked when it was fetched.
  const { model } = parsed.value as unknown as { model: { vocab: Record<string, number> } }
  return new Map(Object.entries(model.vocab))
}
