import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { skillText } from '../support/skills.ts'
import { cleanUp, familiar, familiarJson, newHome, serveFamiliar, temporaryDirectory } from './cli-process.ts'

afterEach(cleanUp)

describe('familiar skills', () => {
  it('SKILL-1 creates, lists, shows and switches skills, and approves one from elsewhere', async () => {
    const [home, elsewhere] = [newHome(), temporaryDirectory()]
    mkdirSync(home, { recursive: true, mode: 0o700 })
    const toml = `[memory.embedding]\nprovider = "off"\n[skills]\ndirectories = [${JSON.stringify(elsewhere)}]\n`
    writeFileSync(join(home, 'familiar.toml'), toml, { mode: 0o600 })
    mkdirSync(join(elsewhere, 'pdf'))
    writeFileSync(join(elsewhere, 'pdf', 'SKILL.md'), skillText('pdf'))
    await serveFamiliar({ home, args: ['--port', '0'] })
    const made = await familiar(['skills', 'new', 'invoices', '--description', 'Use it: for "invoices".'], { home })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('workspace/skills/invoices/SKILL.md') })
    const again = await familiar(['skills', 'new', 'invoices'], { home })
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already') })
    // It is found while Familiar runs, a moment after it was written.
    let listed: unknown
    do listed = await familiarJson(['skills', 'list'], { home })
    while (!JSON.stringify(listed).includes('invoices'))
    expect(listed).toMatchObject({
      skills: [
        { name: 'invoices', status: 'on', description: 'Use it: for "invoices".' },
        { name: 'pdf', status: 'off', origin: 'directory' },
      ],
    })
    const unasked = await familiar(['skills', 'enable', 'pdf'], { home })
    expect(unasked).toMatchObject({ code: 2, stdout: expect.stringContaining('Do as pdf says.') })
    expect((await familiar(['skills', 'enable', 'pdf', '--yes'], { home })).stdout).toContain('pdf is on.')
    expect((await familiar(['skills', 'disable', 'invoices'], { home })).stdout).toContain('invoices is off.')
    expect(await familiarJson(['skills', 'show', 'pdf'], { home })).toMatchObject({ status: 'on' })
    expect(await familiar(['skills', 'show', 'nobody'], { home })).toMatchObject({ code: 1 })
  })
})
