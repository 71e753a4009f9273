import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { skillText } from '../support/skills.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const v1 = '/api/v1'

describe('skills over HTTP', () => {
  let served: ServedFamiliar
  beforeEach(async () => {
    served = await serveFamiliar()
    write('own/SKILL.md', skillText('own'))
    write('imported/pdf/SKILL.md', skillText('pdf'))
    write('imported/pdf/scripts/fill.py', 'print(1)')
    await served.call({ path: `${v1}/skills/reload`, body: {} })
  })
  afterEach(() => served.close())

  function write(path: string, text: string): void {
    const target = join(served.familiar.home, 'workspace', 'skills', path)
    mkdirSync(join(target, '..'), { recursive: true })
    writeFileSync(target, text)
  }
  const show = async (name: string) => (await served.call({ path: `${v1}/skills/${name}` })).json

  it('SKILL-1 are listed and shown with their text and files', async () => {
    expect((await served.call({ path: `${v1}/skills` })).json).toMatchObject({
      skills: [
        { name: 'own', origin: 'workspace', status: 'on', problem: null },
        { name: 'pdf', origin: 'imported', status: 'off', problem: expect.stringContaining('not approved') },
      ],
    })
    expect(await show('pdf')).toMatchObject({
      instructions: 'Do as pdf says.',
      files: [{ path: 'scripts/fill.py', bytes: 8 }],
    })
    expect((await served.call({ path: `${v1}/skills/nobody` })).status).toBe(404)
    expect((await served.call({ path: `${v1}/skills/own/disable`, body: {} })).json).toMatchObject({ status: 'off' })
  })

  it('SEC-14 only the command line of this machine approves one, and only the shown version', async () => {
    const path = `${v1}/local/skills/pdf/enable`
    const { hash } = await show('pdf')
    expect((await served.call({ path, body: { hash } })).status).toBe(403)
    const token = served.localToken
    expect((await served.call({ path, token, body: { hash: 'another' } })).status).toBe(409)
    expect(await show('pdf')).toMatchObject({ status: 'off' })
    expect((await served.call({ path, token, body: { hash } })).json).toMatchObject({ status: 'on', problem: null })
  })
})
