import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CapabilitiesHome, openCapabilities } from '../../test/support/capabilities.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import { createIds, sha256 } from '../base/ids.ts'
import { silentLogger } from '../base/logger.ts'
import { createCapabilityGate } from './builder/gate.ts'
import { type CapabilityCatalog, createCapabilityCatalog } from './built-catalog.ts'
import { versionDifference } from './capabilities.ts'
import { writeNewCapability } from './new-tool.ts'
import { type CapabilityFolders, createCapabilityFolders, skillName } from './share.ts'
import { createVersionStore } from './versions.ts'

const examples = join(import.meta.dirname, '../../examples/capabilities')
const signal = AbortSignal.timeout(120_000)
const job = { signal, onProgress: () => {} }

describe('createCapabilityFolders', () => {
  const real = openRealSandbox()
  let home: CapabilitiesHome
  let catalog: CapabilityCatalog
  let folders: CapabilityFolders
  let root: string

  beforeAll(async () => {
    home = await openCapabilities({ sandbox: real.sandbox })
    const { database, clock, redactor, executor, sandbox } = home
    const versions = createVersionStore({ directory: join(home.home, 'capabilities') })
    catalog = createCapabilityCatalog({ database, versions, clock, ids: createIds(clock), logger: silentLogger })
    await catalog.start()
    const directory = join(home.home, 'cache', 'gate')
    const gate = createCapabilityGate({ executor, catalog, sandbox, redactor, directory, logger: silentLogger })
    folders = createCapabilityFolders({ catalog, gate })
  })
  beforeEach(() => {
    root = mkdtempSync(join(home.home, 'work-'))
  })
  afterAll(async () => {
    await home.close()
    await real.close()
  })

  it.each(['python', 'node'] as const)('CAP-4 takes a new folder in %s as it is', async (runtime) => {
    const name = `fresh_${runtime}`
    const written = await writeNewCapability({ root, name, runtime })
    const main = runtime === 'node' ? ['main.js'] : ['main.py', 'requirements.txt']
    expect(written).toMatchObject({ ok: true, directory: join(root, name) })
    expect(readdirSync(join(root, name)).sort()).toEqual(['RUN.md', 'examples.json', ...main, 'manifest.json'].sort())
    const answer = await folders.register('max', join(root, name), job)
    expect(answer.ok ? [] : answer.problems).toEqual([])
    expect(await catalog.version('max', name)).toMatchObject({ manifest: { runtime } })
  })

  it('CAP-4 writes a new folder over nothing, and under no name that is none', async () => {
    mkdirSync(join(root, 'mine'))
    const taken = await writeNewCapability({ root, name: 'mine', runtime: 'node' })
    expect(taken).toEqual({ ok: false, problem: `There is something at ${join(root, 'mine')} already` })
    for (const name of ['', '..', 'a/b', 'Upper', 'exec', 'cap_x', 'x'.repeat(49)]) {
      expect(await writeNewCapability({ root, name, runtime: 'python' })).toMatchObject({ ok: false })
    }
    expect(readdirSync(root)).toEqual(['mine'])
  })

  it.each(readdirSync(examples).filter((name) => !name.includes('.')))('CAP-4 takes the example %s', async (name) => {
    const answer = await folders.register('max', join(examples, name), job)
    expect(answer.ok ? [] : answer.problems).toEqual([])
    expect(catalog.find('max', name)).toMatchObject({ state: 'active', origin: 'written' })
  })

  /** The command that SKILL.md shows, with this machine's own programs. */
  function runByHand(directory: string, input: string): string {
    const [, shown = ''] =
      /```sh\n(?:pip [^\n]+\n)?(.+?)\n```/s.exec(readFileSync(join(directory, 'SKILL.md'), 'utf8')) ?? []
    const command = shown
      .replace('{…}', input)
      .replace(/^node/, process.execPath)
      .replace(/^python3/, '/usr/bin/python3 -B')
    return execFileSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' })
  }

  it('CAP-9 exports a folder that is a valid Agent Skill and works by hand', async () => {
    await folders.register('max', join(examples, 'iban_check'), job)
    const { directory, files } = await folders.exportTo('max', 'iban_check', root)
    expect(directory).toBe(join(root, 'iban-check'))
    expect(files).toEqual(readdirSync(directory).sort())
    expect(files).not.toContain('lock.json')
    const [, head = ''] = readFileSync(join(directory, 'SKILL.md'), 'utf8').split(/^---$/m)
    const fields = Object.fromEntries(Array.from(head.matchAll(/^(\w+): (.+)$/gm), ([, key, value]) => [key, value]))
    expect(fields.name).toBe('iban-check')
    expect(fields.name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(JSON.parse(fields.description ?? '').length).toBeLessThanOrEqual(1_024)
    expect(runByHand(directory, '{"iban": "x"}')).toContain("'valid': False")
    await expect(folders.exportTo('max', 'iban_check', root)).rejects.toMatchObject({ code: 'conflict' })
    await expect(folders.exportTo('eve', 'iban_check', join(root, 'x'))).rejects.toMatchObject({ code: 'not_found' })
    const named = await folders.exportTo('max', 'iban_check', join(root, 'other', 'iban-check'))
    expect(named.directory).toBe(join(root, 'other', 'iban-check'))
  })

  it('CAP-9 imports what was exported, off until it is approved, and runs nothing of it before', async () => {
    await folders.register('max', join(examples, 'csv_summary'), job)
    const { directory } = await folders.exportTo('max', 'csv_summary', root)
    const skill = readFileSync(join(directory, 'SKILL.md'), 'utf8')
    expect(skill).toContain(
      'For requests such as: What is in this export from Excel? / How much did we sell on average?',
    )
    expect(runByHand(directory, '{"csv": ""}')).toContain('rows: 0')
    const imported = await folders.importFrom('eve', directory, signal)
    expect(imported).toMatchObject({
      ok: true,
      version: 1,
      capability: {
        state: 'disabled',
        origin: 'imported',
        problem: expect.stringContaining('off until you approve what it may do. It reaches no network.'),
      },
    })
    const { askedAs } = (await catalog.version('eve', 'csv_summary'))?.manifest ?? {}
    expect(askedAs).toEqual((await catalog.version('max', 'csv_summary'))?.manifest.askedAs)
    expect(askedAs).toHaveLength(4)
    const approved = await folders.approve('eve', 'csv_summary', job)
    expect(approved).toMatchObject({ ok: true, capability: { state: 'active', problem: null }, version: 1 })
    expect(approved.examples).toHaveLength(3)
    const again = await folders.importFrom('eve', directory, signal)
    expect(again).toMatchObject({ ok: true, version: 2, capability: { state: 'disabled' } })
  })

  it('CAP-9 names the permissions of what is imported, and leaves it off where its examples fail', async () => {
    const directory = join(root, 'prober')
    mkdirSync(directory)
    const manifest = {
      name: 'prober',
      description: 'Asks',
      input_schema: { type: 'object' },
      hosts: ['api.example.com'],
      secrets: [{ name: 'KEY', description: 'of the service' }],
      storage: true,
    }
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest))
    writeFileSync(join(directory, 'main.py'), 'def run(args, context):\n    return "x"\n')
    writeFileSync(join(directory, 'examples.json'), '[{"input": {}, "expect": {"equals": "y"}}]')
    expect(await folders.importFrom('max', directory, signal)).toMatchObject({ ok: true })
    expect(catalog.find('max', 'prober')?.problem).toBe(
      'It was imported and is off until you approve what it may do. It reaches api.example.com. It is given the secrets KEY (of the service). It keeps data between calls.',
    )
    const missing = await folders.approve('max', 'prober', job)
    expect(missing.ok ? '' : missing.problems.join()).toContain('familiar caps secret prober KEY')
    await home.setSecret('prober', 'KEY', 'a value of nobody')
    const failed = await folders.approve('max', 'prober', job)
    expect(failed.ok ? '' : failed.problems.join()).toContain('Example 1: expected "y"')
    expect(catalog.find('max', 'prober')).toMatchObject({ state: 'disabled' })
  })

  it('CAP-9 takes no name from what is there, and nothing that is no capability', async () => {
    await folders.register('max', join(examples, 'iban_check'), job)
    const taken = await folders.importFrom('max', join(examples, 'iban_check'), signal)
    expect(taken.ok ? [] : taken.problems).toEqual([
      'The name iban_check is taken by a capability that was registered from a folder: choose another name.',
    ])
    expect(catalog.find('max', 'iban_check')).toMatchObject({ state: 'active', origin: 'written' })
    for (const path of [join(root, 'none'), root]) {
      expect(await folders.importFrom('max', path, signal)).toMatchObject({ ok: false })
    }
    symlinkSync('/etc/passwd', join(root, 'main.py'))
    const linked = await folders.register('max', root, job)
    expect(linked.ok ? '' : linked.problems.join()).toContain('main.py is a link that leads to no file of it')
  })

  it.each([
    ['without its lock', false, 'main.py was changed.'],
    ['together with its lock', true, 'lock.json was changed.'],
  ])('SEC-14 approves only what was imported, and not what was put in its place %s', async (_, isLocked, expected) => {
    const name = isLocked ? 'swapped_whole' : 'swapped'
    const written = await writeNewCapability({ root, name, runtime: 'python' })
    await folders.importFrom('max', written.ok ? written.directory : '', signal)
    const version = await catalog.version('max', name)
    const [main, lock] = [join(version?.directory ?? '', 'main.py'), join(version?.directory ?? '', 'lock.json')]
    const before = sha256(readFileSync(main))
    writeFileSync(
      main,
      readFileSync(join(import.meta.dirname, 'new/main.py'), 'utf8').replace('looking at', 'stealing'),
    )
    if (isLocked) {
      writeFileSync(lock, readFileSync(lock, 'utf8').replace(before, sha256(readFileSync(main))))
    }
    const answer = await folders.approve('max', name, job)
    expect(answer.ok ? '' : answer.problems.join()).toContain(`is no longer what was registered: ${expected}`)
    expect(catalog.find('max', name)).toMatchObject({ state: 'disabled' })
  })

  it('CAP-8 tells what differs between versions', async () => {
    const written = await writeNewCapability({ root, name: 'growing', runtime: 'python' })
    const directory = written.ok ? written.directory : ''
    await folders.register('max', directory, job)
    await expect(versionDifference({ userId: 'max', name: 'growing' }, { catalog })).rejects.toThrow(
      'no version before 1',
    )
    writeFileSync(join(directory, 'requirements.txt'), '')
    await folders.register('max', directory, job)
    const difference = await versionDifference({ userId: 'max', name: 'growing' }, { catalog })
    expect(difference).toMatchObject({ from: 1, to: 2 })
    expect(difference.files.map(({ path, kind }) => `${path} ${kind}`)).toEqual([
      'manifest.json changed',
      'requirements.txt changed',
    ])
    await expect(versionDifference({ userId: 'eve', name: 'growing' }, { catalog })).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  it('CAP-9 gives skills names that they may have', () => {
    expect(['weather_lookup', 'a__b_', 'x1'].map(skillName)).toEqual(['weather-lookup', 'a-b', 'x1'])
  })
})
