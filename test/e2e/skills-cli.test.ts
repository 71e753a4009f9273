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

  it('SKILL-1 installs a collection, or parts of it, and follows none before it is enabled', async () => {
    const [home, collection] = [newHome(), temporaryDirectory()]
    mkdirSync(home, { recursive: true, mode: 0o700 })
    writeFileSync(join(home, 'familiar.toml'), '[memory.embedding]\nprovider = "off"\n', { mode: 0o600 })
    for (const name of ['pdf', 'docx', 'xlsx']) {
      mkdirSync(join(collection, 'skills', name, 'scripts'), { recursive: true })
      writeFileSync(join(collection, 'skills', name, 'SKILL.md'), skillText(name))
      writeFileSync(join(collection, 'skills', name, 'scripts', 'run.py'), 'print("ran")\n')
    }
    await serveFamiliar({ home, args: ['--port', '0'] })
    const two = await familiar(['skills', 'install', collection, 'pdf', 'docx'], { home })
    expect(two).toMatchObject({ code: 0, stdout: expect.stringContaining('pdf is installed and off.') })
    expect(await familiarJson(['skills', 'list'], { home })).toMatchObject({
      skills: [
        { name: 'docx', status: 'off', origin: 'imported' },
        { name: 'pdf', status: 'off', origin: 'imported' },
      ],
    })
    const again = await familiar(['skills', 'install', collection], { home })
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists') })
    expect(await familiarJson(['skills', 'install', collection, 'xlsx', '--yes'], { home })).toEqual({
      skills: [{ name: 'xlsx', status: 'on' }],
    })
    const unknown = await familiar(['skills', 'install', collection, 'pptx'], { home })
    expect(unknown.stderr).toContain('no skill named pptx in it (there: docx, pdf, xlsx)')
    const empty = await familiar(['skills', 'install', temporaryDirectory()], { home })
    expect(empty.stderr).toContain('No folder in it has a SKILL.md')
    expect(await familiarJson(['skills', 'show', 'pdf'], { home })).toMatchObject({
      files: expect.arrayContaining([expect.objectContaining({ path: 'scripts/run.py' })]),
    })
  })
})
