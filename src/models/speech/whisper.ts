import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileFunction } from 'node:vm'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { z } from 'zod'
import { readBundledText, readBytes } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import { type DecodeOpus, readRecording, resample, secondsOf } from './recordings.ts'
import type { ChildWork } from './speech.ts'
import { hasSpeech } from './speech-gate.ts'
import { voiceParts, whisperFiles, whisperModels, whisperNames } from './voice-parts.ts'

/** `name` is the model and its folder. */
export async function loadTranscription(folder: string, name: string): Promise<ChildWork> {
  const model = whisperNames.find((known) => known === name)
  if (model === undefined) throw new Error(`There is no model "${name}"`)
  const transcribe = await loadWhisperModel(join(folder, model), whisperModels[model])
  const decodeOpus = await findOpusDecoder(join(folder, 'opus-decoder'))
  return async (asked, running) => {
    if (asked.type === 'warm') {
      await transcribe(new Float32Array(whisperRate), null, running)
      return { type: 'warm' }
    }
    if (asked.type !== 'transcribe') return { type: 'failed', reason: 'This process only transcribes.' }
    const heard = await readRecording(asked.recording, decodeOpus)
    if (!heard.ok) return { type: 'failed', reason: heard.reason }
    const seconds = secondsOf(heard.sound)
    if (!hasSpeech(heard.sound)) return { type: 'transcribed', text: '', seconds, language: null }
    const { samples } = resample(heard.sound, whisperRate)
    return { type: 'transcribed', ...(await transcribe(samples, asked.language, running)), seconds }
  }
}

/** The parts of the package `opus-decoder` that are used. */
interface OpusDecoder {
  ready: Promise<void>
  decodeFrames(packets: readonly Uint8Array[]): { channelData: Float32Array[] }
  free(): void
}

type Exports = { OpusDecoder?: new (options: { sampleRate: number; channels: number }) => OpusDecoder }

/**
 * The decoder in `folder`, which is libopus in WebAssembly; null if it is missing or not the installed file. It is code
 * in a place that others may write to, so its hash is checked at every load.
 */
export async function findOpusDecoder(folder: string): Promise<DecodeOpus | null> {
  const [file] = voiceParts.find(({ name }) => name === 'opus-decoder')?.files ?? []
  const code = file && (await readBytes(join(folder, file.name)).catch(() => undefined))
  if (!code || sha256(code) !== file.hash) return null
  const exports: Exports = {}
  // It also contains an unused worker, which needs a class to extend.
  const modules = () => class {}
  const text = Buffer.from(code).toString('utf8')
  compileFunction(text, ['exports', 'module', 'require'])(exports, { exports }, modules)
  const Decoder = exports.OpusDecoder
  if (!Decoder) throw new Error('The Opus decoder has an unexpected interface')
  return async (packets, { channels, rate }) => {
    const decoder = new Decoder({ sampleRate: rate, channels })
    await decoder.ready
    try {
      return decoder.decodeFrames(packets).channelData
    } finally {
      decoder.free()
    }
  }
}

/**
 * The power spectrum of `length` real numbers: `length / 2 + 1` values. Halves the length while possible, and computes
 * the rest directly: fast for 400, which is 16 times 25.
 */
export function createPowerSpectrum(length: number): (numbers: Float64Array, power: Float64Array) => void {
  const cosines = Float64Array.from({ length }, (_, index) => Math.cos((2 * Math.PI * index) / length))
  const sines = Float64Array.from({ length }, (_, index) => Math.sin((2 * Math.PI * index) / length))

  /** Of every `stride`-th number from `from` on, `count` in total. */
  function transform(
    numbers: Float64Array,
    from: number,
    stride: number,
  ): { real: Float64Array; imaginary: Float64Array } {
    const count = length / stride
    const real = new Float64Array(count)
    const imaginary = new Float64Array(count)
    if (count % 2 === 1) {
      for (let frequency = 0; frequency < count; frequency += 1) {
        let sumReal = 0
        let sumImaginary = 0
        for (let index = 0; index < count; index += 1) {
          const turn = (frequency * index * stride) % length
          const number = numbers[from + index * stride] ?? 0
          sumReal += number * (cosines[turn] ?? 0)
          sumImaginary -= number * (sines[turn] ?? 0)
        }
        real[frequency] = sumReal
        imaginary[frequency] = sumImaginary
      }
      return { real, imaginary }
    }
    const even = transform(numbers, from, stride * 2)
    const odd = transform(numbers, from + stride, stride * 2)
    const half = count / 2
    for (let frequency = 0; frequency < half; frequency += 1) {
      const cosine = cosines[frequency * stride] ?? 0
      const sine = sines[frequency * stride] ?? 0
      const oddReal = odd.real[frequency] ?? 0
      const oddImaginary = odd.imaginary[frequency] ?? 0
      const turnedReal = oddReal * cosine + oddImaginary * sine
      const turnedImaginary = oddImaginary * cosine - oddReal * sine
      real[frequency] = (even.real[frequency] ?? 0) + turnedReal
      imaginary[frequency] = (even.imaginary[frequency] ?? 0) + turnedImaginary
      real[frequency + half] = (even.real[frequency] ?? 0) - turnedReal
      imaginary[frequency + half] = (even.imaginary[frequency] ?? 0) - turnedImaginary
    }
    return { real, imaginary }
  }

  return (numbers, power) => {
    const { real, imaginary } = transform(numbers, 0, 1)
    for (let index = 0; index <= length / 2; index += 1) {
      power[index] = (real[index] ?? 0) ** 2 + (imaginary[index] ?? 0) ** 2
    }
  }
}

/**
 * Mel bands, each with the same area, as in Whisper's training (Slaney's scale): their frequencies, starting at
 * `first`, and the weights of these.
 */
export function createMelFilters(options: { bands: number; rate: number; size: number }) {
  const { bands, rate, size } = options
  const top = toMel(rate / 2)
  const edges = Array.from({ length: bands + 2 }, (_, index) => toHertz((top * index) / (bands + 1)))
  const step = rate / size
  return Array.from({ length: bands }, (_, band) => {
    const [low = 0, middle = 0, high = 0] = edges.slice(band, band + 3)
    const first = Math.ceil(low / step)
    const count = Math.max(0, Math.floor(high / step) - first + 1)
    const weights = Float64Array.from({ length: count }, (_, index) => {
      const hertz = (first + index) * step
      const height = Math.max(0, Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle)))
      return (height * 2) / (high - low)
    })
    return { first, weights }
  })
}

/** Linear up to here, then logarithmic. */
const bend = 1_000
const hertzPerMel = 200 / 3
const ratio = Math.log(6.4) / 27

function toMel(hertz: number): number {
  return hertz < bend ? hertz / hertzPerMel : bend / hertzPerMel + Math.log(hertz / bend) / ratio
}

function toHertz(mel: number): number {
  const atBend = bend / hertzPerMel
  return mel < atBend ? mel * hertzPerMel : bend * Math.exp(ratio * (mel - atBend))
}

const whisperRate = 16_000
const windowSeconds = 30
export const melBands = 80
/** One frame per hundredth of a second. */
export const melFrames = 3_000

const size = 400
const hop = 160
const windowSamples = whisperRate * windowSeconds

const hann = Float64Array.from({ length: size }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / size))
const filters = createMelFilters({ bands: melBands, rate: whisperRate, size })
const powerSpectrum = createPowerSpectrum(size)

/**
 * The model's input for up to 30 seconds: band by band, each with all its frames. Shorter input is padded with silence.
 */
export function melFeatures(samples: Float32Array): Float32Array {
  const features = new Float32Array(melBands * melFrames)
  const piece = new Float64Array(size)
  const power = new Float64Array(size / 2 + 1)
  let loudest = quietestLevel
  for (let frame = 0; frame < melFrames; frame += 1) {
    const from = frame * hop - size / 2
    if (isPadding(samples, from)) {
      for (let band = 0; band < melBands; band += 1) features[band * melFrames + frame] = quietestLevel
      continue
    }
    cutPiece(samples, from, piece)
    powerSpectrum(piece, power)
    for (const [band, { first, weights }] of filters.entries()) {
      let sum = 0
      for (let index = 0; index < weights.length; index += 1) sum += (power[first + index] ?? 0) * (weights[index] ?? 0)
      const level = Math.max(Math.log10(Math.max(sum, 1e-10)), quietestLevel)
      features[band * melFrames + frame] = level
      if (level > loudest) loudest = level
    }
  }
  // Levels far below the loudest count as silence.
  return features.map((level) => (Math.max(level, loudest - 8) + 4) / 4)
}

/** Of no sound at all. */
const quietestLevel = -10

/** A piece behind the end, whose mirror image at the end of the window is behind it too: most of a short sentence. */
function isPadding(samples: Float32Array, from: number): boolean {
  return from >= samples.length && 2 * (windowSamples - 1) - (from + size - 1) >= samples.length
}

/** Windowed; the sound is mirrored at both ends. */
function cutPiece(samples: Float32Array, from: number, piece: Float64Array): void {
  for (let index = 0; index < size; index += 1) {
    const at = Math.abs(from + index)
    const mirrored = at >= windowSamples ? 2 * (windowSamples - 1) - at : at
    piece[index] = (samples[mirrored] ?? 0) * (hann[index] ?? 0)
  }
}

/** The part of a window in which a quiet place for a cut is searched. */
const searched = whisperRate * 6
const step = whisperRate / 10

/** Pieces of at most 30 seconds, cut at the quietest place, so that no word is split. */
export function cutWindows(samples: Float32Array): Float32Array[] {
  const windows: Float32Array[] = []
  let from = 0
  while (samples.length - from > windowSamples) {
    const until = quietest(samples, from + windowSamples - searched, from + windowSamples)
    windows.push(samples.subarray(from, until))
    from = until
  }
  return [...windows, samples.subarray(from)]
}

/** The middle of the quietest tenth of a second. */
function quietest(samples: Float32Array, from: number, until: number): number {
  let best = until
  let lowest = Number.POSITIVE_INFINITY
  for (let at = from; at + step <= until; at += step) {
    const energy = samples.subarray(at, at + step).reduce((sum, sample) => sum + sample * sample, 0)
    // The latest of equals: longer windows are fewer.
    if (energy <= lowest) {
      lowest = energy
      best = at + step / 2
    }
  }
  return best
}

/** The special tokens and rules of a model, from its `generation_config.json`. */
export interface DecodingRules {
  begin: number
  end: number
  transcribe: number
  withoutTimes: number
  noSpeech: number
  languages: ReadonlyMap<number, string>
  /** Never output: special tokens, brackets, music. */
  suppressed: readonly number[]
  /** Not allowed first: empty text, and the end. */
  notFirst: readonly number[]
}

/** Gives the model the next tokens; returns the score of each possible following token. */
export type NextTokens = (tokens: readonly number[]) => Promise<Float32Array>

const maxTokens = 220
/** As in the original: no speech if the model says so and is unsure of the text. */
const silenceShare = 0.6
const unsure = -1
/** With an expected language, another one must be this many times as likely: short sentences are often mistaken. */
const surelyOther = 20

/**
 * Takes the likeliest token each time, in the expected language unless the model is sure of another one. Empty if there is
 * no speech. Cut off when the model starts repeating itself, or when the result is not needed any more.
 */
export async function decodeGreedily(
  rules: DecodingRules,
  next: NextTokens,
  { expected = null, isCanceled = () => false }: { expected?: string | null; isCanceled?: () => boolean } = {},
): Promise<{ tokens: number[]; language: string }> {
  const opening = await next([rules.begin])
  const silence = Math.exp(logShare(opening, rules.noSpeech))
  const spoken = spokenLanguage(rules, opening, expected)
  const language = rules.languages.get(spoken) ?? 'en'
  const suppressed = new Set(rules.suppressed)
  const notFirst = new Set([...rules.suppressed, ...rules.notFirst])
  const isText = (token: number) => token <= rules.end && !suppressed.has(token)
  const tokens: number[] = []
  let likelihood = 0
  let scores = await next([spoken, rules.transcribe, rules.withoutTimes])
  while (tokens.length < maxTokens && !isCanceled()) {
    const token = likeliest(scores, tokens.length === 0 ? (each) => isText(each) && !notFirst.has(each) : isText)
    likelihood += logShare(scores, token)
    if (token === rules.end) break
    tokens.push(token)
    const repeated = repetition(tokens)
    if (repeated > 0) return { tokens: tokens.slice(0, -repeated), language }
    scores = await next([token])
  }
  const isSilent = silence > silenceShare && likelihood / (tokens.length + 1) < unsure
  return { tokens: isSilent ? [] : tokens, language }
}

function spokenLanguage({ languages }: DecodingRules, scores: Float32Array, expected: string | null): number {
  const detected = likeliest(scores, (token) => languages.has(token))
  const [hinted] = [...languages].find(([, code]) => code === expected) ?? []
  if (hinted === undefined) return detected
  const isOther = logShare(scores, detected) - logShare(scores, hinted) > Math.log(surelyOther)
  return isOther ? detected : hinted
}

function likeliest(scores: Float32Array, isAllowed: (token: number) => boolean): number {
  let best = -1
  for (let token = 0; token < scores.length; token += 1) {
    if ((best === -1 || (scores[token] ?? 0) > (scores[best] ?? 0)) && isAllowed(token)) best = token
  }
  return best
}

function logShare(scores: Float32Array, token: number): number {
  let highest = Number.NEGATIVE_INFINITY
  for (const score of scores) if (score > highest) highest = score
  let sum = 0
  for (const score of scores) sum += Math.exp(score - highest)
  return (scores[token] ?? Number.NEGATIVE_INFINITY) - highest - Math.log(sum)
}

/** How many tokens at the end only repeat earlier ones, if that happens too often to be speech. */
function repetition(tokens: readonly number[]): number {
  for (let length = 1; length <= 16; length += 1) {
    const times = length === 1 ? 6 : 4
    const span = length * times
    if (tokens.length < span) break
    const from = tokens.length - span
    const isSame = tokens.slice(from + length).every((token, index) => token === tokens[from + index])
    if (isSame) return span - length
  }
  return 0
}

/** Numbers of tokens back to text. `vocabulary` is that of GPT-2: each byte of a token is represented by a printable letter. */
export function createTokenText(vocabulary: Readonly<Record<string, number>>) {
  const spelled = new Map(Object.entries(vocabulary).map(([text, token]) => [token, text]))
  const bytes = byteOfLetter()
  return {
    /** Leaves out special tokens. Invalid bytes are shown as such, never thrown. */
    decode(tokens: readonly number[]): string {
      const letters = tokens.flatMap((token) => [...(spelled.get(token) ?? '')])
      return new TextDecoder().decode(Uint8Array.from(letters, (letter) => bytes.get(letter) ?? 0x20))
    },
  }
}

/** Printable bytes represent themselves; the others use the letters from 256 on, in order. */
function byteOfLetter(): Map<string, number> {
  const prints = (byte: number) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
  const letters = new Map<string, number>()
  let next = 256
  for (let byte = 0; byte < 256; byte += 1) {
    letters.set(String.fromCodePoint(prints(byte) ? byte : next), byte)
    if (!prints(byte)) next += 1
  }
  return letters
}

const headSize = 64

type Tensors = Record<string, Tensor>

/** A Whisper model in this process. Throws if a file is missing or has unexpected content. */
async function loadWhisperModel(folder: string, { layers, heads }: { layers: number; heads: number }) {
  const parts = Array.from({ length: layers }, (_, layer) => partsOf(layer)).flat()
  const options = {
    intraOpNumThreads: 2,
    interOpNumThreads: 1,
    // Measured on the encoder alone: 160 MB instead of 460, at the cost of a seventh of a second per window.
    enableCpuMemArena: false,
    // Errors only: its output is not read.
    logSeverityLevel: 3,
  }
  const rules = readRules(readJsonFile(folder, whisperFiles.rules, rulesSchema))
  const text = createTokenText(readJsonFile(folder, whisperFiles.vocabulary, z.record(z.string(), z.int())))
  const encoder = await InferenceSession.create(join(folder, whisperFiles.encoder), options)
  const decoder = await InferenceSession.create(join(folder, whisperFiles.decoder), options)

  async function listen(samples: Float32Array): Promise<NextTokens> {
    const features = new Tensor('float32', melFeatures(samples), [1, melBands, melFrames])
    const { last_hidden_state: heard } = await encoder.run({ input_features: features }, ['last_hidden_state'])
    if (!heard) throw new Error('The model returned no last_hidden_state')
    let past: Tensors | undefined
    // One at a time: with a past, this model treats several tokens as simultaneous.
    const step = async (token: number) => {
      const answer = await decoder.run(
        {
          input_ids: new Tensor('int64', BigInt64Array.of(BigInt(token)), [1, 1]),
          encoder_hidden_states: heard,
          ...(past ?? nothingSaid(parts, heads)),
          use_cache_branch: new Tensor('bool', Uint8Array.of(past ? 1 : 0), [1]),
        },
        ['logits', ...parts.map((part) => `present.${part}`)],
      )
      if (!answer.logits) throw new Error('The model returned no logits')
      past = remember(parts, answer, past)
      return answer.logits.data
    }
    return async (tokens) => {
      let scores: Float32Array = new Float32Array()
      for (const token of tokens) scores = await step(token)
      return scores
    }
  }

  /** `samples` at 16,000 a second. The language is that of the first piece with speech. */
  return async (
    samples: Float32Array,
    expected: string | null,
    { onProgress, isCanceled }: Parameters<ChildWork>[1],
  ): Promise<{ text: string; language: string | null }> => {
    const said: string[] = []
    let spoken: string | null = null
    for (const window of cutWindows(samples)) {
      if (isCanceled()) break
      const { tokens, language } = await decodeGreedily(rules, await listen(window), { expected, isCanceled })
      const piece = text.decode(tokens).trim()
      if (piece !== '') {
        said.push(piece)
        spoken ??= language
      }
      onProgress()
    }
    return { text: said.join(' '), language: spoken }
  }
}

function partsOf(layer: number): string[] {
  return ['decoder', 'encoder'].flatMap((side) => [`${layer}.${side}.key`, `${layer}.${side}.value`])
}

function nothingSaid(parts: readonly string[], heads: number): Tensors {
  const empty = new Tensor('float32', new Float32Array(), [1, heads, 0, headSize])
  return Object.fromEntries(parts.map((part) => [`past_key_values.${part}`, empty]))
}

/** Values of the audio stay constant; those of the text grow. */
function remember(parts: readonly string[], answer: Readonly<Tensors>, past: Tensors | undefined): Tensors {
  return Object.fromEntries(
    parts.map((part) => {
      const name = `past_key_values.${part}`
      const kept = part.includes('encoder') ? past?.[name] : undefined
      const tensor = kept ?? answer[`present.${part}`]
      if (!tensor) throw new Error(`The model returned no present.${part}`)
      return [name, tensor]
    }),
  )
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
    // The token before it, in every Whisper.
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
