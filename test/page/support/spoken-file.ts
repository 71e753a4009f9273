import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../../src/base/processes.ts'
import { writeWav } from '../../../src/models/speech/kokoro.ts'
import { readWav } from '../../../src/models/speech/recordings.ts'

/** Undefined where nothing here can speak. */
export const espeak = await findProgram(['espeak-ng'], process.env.PATH ?? '')

/** A burst of air and the breath after it: no speech, and as loud as some. The same at every run. */
export function makeCough(rate: number, seed = 1): Float32Array {
  let state = seed
  let low = 0
  return Float32Array.from({ length: Math.round(rate * 0.4) }, (_, index) => {
    state = (state * 16_807) % 2_147_483_647
    low += ((state / 2_147_483_647 - 0.5) * 2 - low) * 0.5
    const at = index / rate
    return low * (at < 0.05 ? 0.9 : 0.7) * Math.exp(-at * 5)
  })
}

interface Silence {
  before: number
  after: number
  /** A cough follows after this silence, before the last one. */
  cough?: number
}

/** A recording of this text, with silence before and after it. Chromium's fake microphone plays it in a loop. */
export function makeSpokenFile(text: string, silence: Silence): string {
  if (espeak === undefined) throw new Error('There is no espeak-ng here.')
  const heard = readWav(execFileSync(espeak, ['--stdout', '-a', '150', text]))
  if (!heard.ok) throw new Error(heard.reason)
  const { samples, rate } = heard.sound
  const quiet = (seconds: number) => new Float32Array(Math.round(seconds * rate))
  const { before, after, cough } = silence
  const coughed = cough === undefined ? [] : [quiet(cough), makeCough(rate)]
  const pieces = [quiet(before), samples, ...coughed, quiet(after)]
  const all = Float32Array.from(pieces.flatMap((piece) => [...piece]))
  const file = join(mkdtempSync(join(tmpdir(), 'familiar-spoken-')), 'spoken.wav')
  writeFileSync(file, writeWav({ samples: all, rate }))
  return file
}
