import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { readBundledText } from '../../base/text-file.ts'
import { cutWindows } from './cut-windows.ts'
import { type DecodingRules, decodeGreedily, type NextTokens } from './decode-greedily.ts'
import { melBands, melFeatures, melFrames } from './mel-features.ts'
import { createTokenText } from './token-text.ts'
import { whisperFiles } from './whisper-files.ts'

/** whisper-tiny in this process. */
export interface WhisperModel {
  /** `samples` at 16,000 a second. `onWindow` is called after every piece. */
  transcribe(samples: Float32Array, onWindow: () => void): Promise<{ text: string; language: string }>
}

const layers = [0, 1, 2, 3]
const heads = 6
const headSize = 64

type Tensors = Record<string, Tensor>

/** Throws where a file is missing or is not what it should be. */
export async function loadWhisperModel(folder: string): Promise<WhisperModel> {
  const options = {
    intraOpNumThreads: 2,
    interOpNumThreads: 1,
    // Measured on the encoder alone: 160 MB instead of 460, for a seventh of a second more a window.
    enableCpuMemArena: false,
    // Errors only: nobody reads what it prints.
    logSeverityLevel: 3,
  }
  const rules = readRules(readJsonFile(folder, whisperFiles.rules, rulesSchema))
  const text = createTokenText(readJsonFile(folder, whisperFiles.vocabulary, z.record(z.string(), z.int())))
  const encoder = await InferenceSession.create(join(folder, whisperFiles.encoder), options)
  const decoder = await InferenceSession.create(join(folder, whisperFiles.decoder), options)

  async function listen(samples: Float32Array): Promise<NextTokens> {
    const features = new Tensor('float32', melFeatures(samples), [1, melBands, melFrames])
    const { last_hidden_state: heard } = await encoder.run({ input_features: features }, ['last_hidden_state'])
    if (!heard) throw new Error('The model gave no last_hidden_state')
    let past: Tensors | undefined
    // One at a time: with a past, this model takes several tokens for simultaneous.
    const step = async (token: number) => {
      const answer = await decoder.run(
        {
          input_ids: new Tensor('int64', BigInt64Array.of(BigInt(token)), [1, 1]),
          encoder_hidden_states: heard,
          ...(past ?? nothingSaid()),
          use_cache_branch: new Tensor('bool', Uint8Array.of(past ? 1 : 0), [1]),
        },
        ['logits', ...layers.flatMap((layer) => partsOf(layer).map((part) => `present.${part}`))],
      )
      past = remember(answer, past)
      return scoresIn(answer.logits)
    }
    return async (tokens) => {
      let scores: Float32Array = new Float32Array()
      for (const token of tokens) scores = await step(token)
      return scores
    }
  }

  return {
    async transcribe(samples, onWindow) {
      const said: string[] = []
      let language = 'en'
      for (const window of cutWindows(samples)) {
        const decoded = await decodeGreedily(rules, await listen(window))
        language = decoded.language
        said.push(text.decode(decoded.tokens).trim())
        onWindow()
      }
      return { text: said.filter((piece) => piece !== '').join(' '), language }
    },
  }
}

function partsOf(layer: number): string[] {
  return ['decoder', 'encoder'].flatMap((side) => [`${layer}.${side}.key`, `${layer}.${side}.value`])
}

function nothingSaid(): Tensors {
  const empty = new Tensor('float32', new Float32Array(), [1, heads, 0, headSize])
  return Object.fromEntries(layers.flatMap((layer) => partsOf(layer).map((part) => [`past_key_values.${part}`, empty])))
}

/** What belongs to the sound is answered once and stays; what was said grows. */
function remember(answer: Readonly<Tensors>, past: Tensors | undefined): Tensors {
  return Object.fromEntries(
    layers.flatMap(partsOf).map((part) => {
      const name = `past_key_values.${part}`
      const kept = part.includes('encoder') ? past?.[name] : undefined
      return [name, kept ?? present(answer, part)]
    }),
  )
}

function present(answer: Readonly<Tensors>, part: string): Tensor {
  const tensor = answer[`present.${part}`]
  if (!tensor) throw new Error(`The model gave no present.${part}`)
  return tensor
}

function scoresIn(logits: Tensor | undefined): Float32Array {
  if (!logits) throw new Error('The model gave no logits')
  return logits.data
}

const rulesSchema = z.object({
  decoder_start_token_id: z.int(),
  eos_token_id: z.int(),
  no_timestamps_token_id: z.int(),
  task_to_id: z.object({ transcribe: z.int() }),
  lang_to_id: z.record(z.string(), z.int()),
  suppress_tokens: z.array(z.int()),
  begin_suppress_tokens: z.array(z.int()),
})

function readRules(rules: z.infer<typeof rulesSchema>): DecodingRules {
  const languages = Object.entries(rules.lang_to_id).map(
    ([mark, token]) => [token, mark.replace(/[<|>]/g, '')] as const,
  )
  return {
    begin: rules.decoder_start_token_id,
    end: rules.eos_token_id,
    transcribe: rules.task_to_id.transcribe,
    withoutTimes: rules.no_timestamps_token_id,
    // The one before it, in every Whisper.
    noSpeech: rules.no_timestamps_token_id - 1,
    languages: new Map(languages),
    suppressed: rules.suppress_tokens,
    notFirst: rules.begin_suppress_tokens,
  }
}

function readJsonFile<T>(folder: string, name: string, schema: z.ZodType<T>): T {
  const parsed = parseJson(readBundledText(pathToFileURL(join(folder, name))), schema)
  if (!parsed.ok) throw new Error(`${name} is damaged: ${parsed.message}`)
  return parsed.value
}
