import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
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
