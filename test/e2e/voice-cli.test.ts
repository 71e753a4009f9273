import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { findProgram } from '../../src/base/processes.ts'
import { makeToneWav } from '../support/made-sound.ts'
import { cleanUp, familiar, familiarJson, newHome } from './cli-process.ts'

afterEach(cleanUp)

it('CHAN-4 the command line lists the models, downloads nothing by itself, and has nothing to remove', async () => {
  const home = newHome()
  expect(await familiarJson(['voice', 'status'], { home })).toMatchObject({
    directory: join(home, 'voice'),
    transcription: { by: null, hint: expect.stringContaining('familiar voice install') },
    parts: [
      { name: 'whisper-tiny', use: 'transcription', installed: false },
      { name: 'whisper-base', use: 'transcription', installed: false },
      { name: 'whisper-small', use: 'transcription', installed: false },
      { name: 'opus-decoder', use: 'transcription', installed: false },
      { name: 'kokoro-82m', use: 'speech', installed: false },
    ],
    voices: [],
  })
  const file = `${home}.wav`
  writeFileSync(file, makeToneWav(0.1))
  const written = await familiar(['voice', 'transcribe', file], { home })
  expect(written).toMatchObject({ code: 1, stderr: expect.stringContaining('familiar voice install --transcription') })
  const said = await familiar(['voice', 'say', 'Hello', '--local', '--out', `${home}.ogg`], { home })
  expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('familiar voice install --speech') })
  expect(await familiarJson(['voice', 'remove'], { home })).toMatchObject({ removed: false })
})

const espeak = await findProgram(['espeak-ng'], process.env.PATH ?? '')

it.skipIf(espeak === undefined)(
  'VOICE-7 voice say plays, or writes a file and asks before it overwrites one (needs espeak-ng)',
  async () => {
    const home = newHome()
    // A player that keeps what it got.
    const programs = mkdtempSync(join(tmpdir(), 'familiar-player-'))
    const player = join(programs, 'pw-play')
    writeFileSync(player, `#!/bin/sh\ncp "$1" "${programs}/played.wav"\n`)
    chmodSync(player, 0o755)
    const env = { PATH: `${programs}:/usr/bin:/bin` }
    const played = await familiar(['voice', 'say', 'Hello'], { home, env })
    expect(played).toMatchObject({ code: 0 })
    expect(readFileSync(join(programs, 'played.wav')).subarray(0, 4).toString()).toBe('RIFF')

    const file = join(programs, 'out.wav')
    expect(await familiar(['voice', 'say', 'Hello', '--out', file], { home, env })).toMatchObject({ code: 0 })
    expect(existsSync(file)).toBe(true)
    writeFileSync(file, 'mine')
    expect((await familiar(['voice', 'say', 'Hello', '--out', file], { home, env })).code).not.toBe(0)
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect(await familiar(['voice', 'say', 'Hello', '--out', file, '--yes'], { home, env })).toMatchObject({ code: 0 })
    expect(readFileSync(file).subarray(0, 4).toString()).toBe('RIFF')
  },
  60_000,
)
