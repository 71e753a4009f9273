import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../../src/base/processes.ts'
import { writeWav } from '../../../src/models/speech/kokoro.ts'
import { readWav } from '../../../src/models/speech/recordings.ts'

/** Undefined where nothing here can speak. */
export const espeak = await findProgram(['espeak-ng'], process.env.PATH ?? '')

/** A recording of this text, with silence before and after it. Chromium's fake microphone plays it in a loop. */
export function makeSpokenFile(text: string, silence: { before: number; after: number }): string {
  if (espeak === undefined) throw new Error('There is no espeak-ng here.')
  const heard = readWav(execFileSync(espeak, ['--stdout', '-a', '150', text]))
  if (!heard.ok) throw new Error(heard.reason)
  const { samples, rate } = heard.sound
  const before = Math.round(silence.before * rate)
  const all = new Float32Array(before + samples.length + Math.round(silence.after * rate))
  all.set(samples, before)
  const file = join(mkdtempSync(join(tmpdir(), 'familiar-spoken-')), 'spoken.wav')
  writeFileSync(file, writeWav({ samples: all, rate }))
  return file
}
