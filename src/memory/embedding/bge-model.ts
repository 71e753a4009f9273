import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { readBundledText } from '../../base/files.ts'
import { parseAnyJson } from '../../base/json.ts'
import { toUnitVector } from './embedders.ts'
import { modelFiles } from './local-embedder.ts'

/** bge-small-en-v1.5 in this process: about 150 MB. Throws if a file is missing or has unexpected content. */
export async function loadBgeModel(folder: string) {
  const wordPieces = createWordPieces(readVocabulary(join(folder, modelFiles.tokenizer)))
  const session = await InferenceSession.create(join(folder, modelFiles.weights), {
    // Measured on two cores: a second thread makes every text slower.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // Errors only: its output is not read.
    logSeverityLevel: 3,
  })

  return {
    /** One text at a time: batching with a longer one would change the result. */
    async embed(text: string): Promise<Float32Array> {
      const numbers = wordPieces.encode(text)
      const shape = [1, numbers.length]
      const { last_hidden_state: state } = await session.run({
        input_ids: new Tensor('int64', BigInt64Array.from(numbers, BigInt), shape),
        attention_mask: new Tensor('int64', new BigInt64Array(numbers.length).fill(1n), shape),
        token_type_ids: new Tensor('int64', new BigInt64Array(numbers.length), shape),
      })
      if (!state) throw new Error('The model returned no last_hidden_state')
      // A vector per word piece: the first represents the whole text, as in this model's training.
      return toUnitVector(state.data.subarray(0, state.dims[2] ?? 0))
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

/** The model's input limit, including its two marks. */
const maxInputLength = 512
const maxWordLength = 100
/** More than the model can read of ordinary text: the rest need not be cleaned. */
const maxCharacters = 16_384

/** Converts text to numbers of BERT's lower-case `vocabulary`: continuations begin with `##`. */
export function createWordPieces(vocabulary: ReadonlyMap<string, number>) {
  const begin = numberOf('[CLS]')
  const end = numberOf('[SEP]')
  const unknown = numberOf('[UNK]')

  return {
    /** Begins and ends with the model's marks. No text can break it or insert a mark. */
    encode(text: string): number[] {
      const numbers = [begin]
      for (const [word] of cleanedText(text).matchAll(wordOrMark)) {
        numbers.push(...piecesOf(word))
        if (numbers.length >= maxInputLength - 1) break
      }
      return [...numbers.slice(0, maxInputLength - 1), end]
    },
  }

  function numberOf(piece: string): number {
    const number = vocabulary.get(piece)
    if (number === undefined) throw new RangeError(`The vocabulary does not contain ${piece}`)
    return number
  }

  /** The longest known prefix, then the longest known continuation, and so on; unknown if that fails. */
  function piecesOf(word: string): number[] {
    const letters = [...word]
    if (letters.length > maxWordLength) return [unknown]
    const pieces: number[] = []
    for (let from = 0; from < letters.length; ) {
      let until = letters.length
      let piece: number | undefined
      for (; piece === undefined && until > from; until -= 1) {
        piece = vocabulary.get((from === 0 ? '' : '##') + letters.slice(from, until).join(''))
      }
      if (piece === undefined) return [unknown]
      pieces.push(piece)
      from = until + 1
    }
    return pieces
  }
}

const wordOrMark = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu
const unseen = /[^\P{C}\t\n\r]|\ufffd/gu
const accent = /\p{Mn}/gu
const chinese =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu

/** As in the model's training: lower case, no accents, every Chinese character a word. */
function cleanedText(text: string): string {
  return text
    .slice(0, maxCharacters)
    .replace(unseen, '')
    .replace(chinese, ' $& ')
    .normalize('NFD')
    .replace(accent, '')
    .toLowerCase()
}
