import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContractToolsHome, manifestOf, openContractTools } from '../../test/support/contract-tools.ts'
import { bashTool } from '../../test/support/published-tools.ts'
import { openRealSandbox } from '../../test/support/real-sandbox.ts'
import { toolOf } from '../../test/support/scripted-familiar.ts'

const saying = (text: string) => `echo '${JSON.stringify({ text })}'`

const { sandbox, close } = openRealSandbox()
afterAll(close)

describe('tools that change while Familiar runs', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox })
  })
  afterEach(() => home.close())

  const offered = () => home.registry.list().map((tool) => tool.definition.name)

  /** Waits for changes to be taken in until they have led there. */
  async function until(isThere: () => boolean): Promise<void> {
    while (!isThere()) await home.nextChange()
  }

  it('TOOL-1 come, change and go without a restart, also where their folder is not there at first', async () => {
    await home.start()
    expect(offered()).toEqual([])
    home.writeTool('one', bashTool('one', saying('first')))
    await until(() => offered().includes('one'))
    expect((await home.run('one')).text).toBe('first')

    home.writeTool('one', { 'runner.sh': saying('second') })
    await home.nextChange()
    expect((await home.run('one')).text).toBe('second')

    home.writeTool('two', bashTool('two', saying('two')))
    await until(() => offered().includes('two'))
    rmSync(join(home.directory, 'one'), { recursive: true })
    await until(() => !offered().includes('one'))
    expect(offered()).toEqual(['two'])
    expect((await home.catalog.list('max')).map(({ name }) => name)).toEqual(['two'])
  })

  it('TOOL-1 are followed through a rename of a folder and of the folder of all', async () => {
    home.writeTool('one', bashTool('one', saying('one')))
    await home.start()
    renameSync(join(home.directory, 'one'), join(home.directory, 'two'))
    writeFileSync(join(home.directory, 'two', 'manifest.json'), JSON.stringify(manifestOf('two')))
    await until(() => offered().join() === 'two')
    renameSync(home.directory, `${home.directory}-old`)
    await until(() => offered().length === 0)
    home.writeTool('three', bashTool('three', saying('three')))
    await until(() => offered().join() === 'three')
    home.writeTool('three', { 'runner.sh': saying('and again') })
    await home.nextChange()
    expect((await home.run('three')).text).toBe('and again')
  })

  it('TOOL-1 that are broken say so at once, and are back when they are repaired', async () => {
    home.writeTool('one', bashTool('one', saying('one')))
    await home.start()
    home.writeTool('one', { 'manifest.json': '{"name": "one"' })
    await until(() => offered().length === 0)
    expect(await home.catalog.list('max')).toMatchObject([{ status: 'error' }])
    home.writeTool('one', { 'manifest.json': JSON.stringify(manifestOf('one')) })
    await until(() => offered().length === 1)
    expect((await home.run('one')).text).toBe('one')
  })

  it('TOOL-1 with files in folders of their own are seen to change there, too', async () => {
    home.writeTool('deep', { ...bashTool('deep', 'bash lib/part.sh'), 'lib/part.sh': saying('first') })
    await home.start()
    expect((await home.run('deep')).text).toBe('first')
    home.writeTool('deep', { 'lib/part.sh': saying('second') })
    await home.nextChange()
    expect((await home.run('deep')).text).toBe('second')
  })

  it('TOOL-1 finish what they began with the code they began with', async () => {
    home.writeTool('slow', bashTool('slow', `sleep 1; bash part.sh`, {}))
    home.writeTool('slow', { 'part.sh': saying('as it was') })
    await home.start()
    const running = home.run('slow')
    home.writeTool('slow', { 'part.sh': saying('as it is now') })
    await home.nextChange()
    expect((await running).text).toBe('as it was')
    expect((await home.run('slow')).text).toBe('as it is now')
  })
})

describe('folders that are no place for a tool', () => {
  let home: ContractToolsHome
  beforeEach(async () => {
    home = await openContractTools({ sandbox })
    mkdirSync(home.directory)
  })
  afterEach(() => home.close())

  async function problemOf(name: string): Promise<string | null | undefined> {
    await home.start()
    return (await home.catalog.show('max', name))?.problem
  }

  it('SEC-11 refuses a link that leads out of the folder, and takes one that stays in it', async () => {
    writeFileSync(join(home.home, 'outside'), 'secret')
    home.writeTool('escape', bashTool('escape', saying('x')))
    symlinkSync(join(home.home, 'outside'), join(home.directory, 'escape', 'data'))
    home.writeTool('inner', { ...bashTool('inner', ''), 'real.sh': saying('linked') })
    rmSync(join(home.directory, 'inner', 'runner.sh'))
    symlinkSync('real.sh', join(home.directory, 'inner', 'runner.sh'))
    expect(await problemOf('escape')).toContain('data is a link that leads to no file of it')
    expect((await home.run('inner')).text).toBe('linked')
  })

  it('SEC-11 refuses a folder that is a link, and links to folders', async () => {
    const elsewhere = join(home.home, 'elsewhere')
    home.writeTool('real', bashTool('real', saying('x')), elsewhere)
    symlinkSync(join(elsewhere, 'real'), join(home.directory, 'real'))
    home.writeTool('parent', bashTool('parent', saying('x')))
    symlinkSync('/', join(home.directory, 'parent', 'root'))
    expect(await problemOf('real')).toContain('it is a link')
    expect(await problemOf('parent')).toContain('root is a link that leads to no file of it')
  })

  it('SEC-11 refuses what is larger or has more files than a tool has any use for', async () => {
    home.writeTool('large', bashTool('large', saying('x')))
    writeFileSync(join(home.directory, 'large', 'data'), Buffer.alloc(33 * 1024 ** 2))
    home.writeTool('many', bashTool('many', saying('x')))
    for (let index = 0; index < 2_001; index += 1) writeFileSync(join(home.directory, 'many', `file${index}`), '')
    home.writeTool('wordy', bashTool('wordy', saying('x'), { description: 'x', tips: 'x'.repeat(300_000) }))
    await home.start()
    const problems = (await home.catalog.list('max')).map(({ problem }) => problem)
    expect(problems).toEqual([
      expect.stringContaining('it holds more than 32 MB'),
      expect.stringContaining('it has more than 2000 files'),
      'manifest.json has more than 256 KB',
    ])
  })

  it('SEC-14 takes a name from the first folder that has it, and none that Familiar has', async () => {
    await home.close()
    const builtin = [toolOf('recall_memory', async () => ({ text: '', isError: false }), { aliases: ['recall'] })]
    home = await openContractTools({ sandbox, builtin, moreRoots: ['second'] })
    home.writeTool('one', bashTool('one', saying('first')))
    home.writeTool('one', bashTool('one', saying('second')), join(home.home, 'second'))
    home.writeTool('recall', bashTool('recall', saying('not Familiar')))
    expect(await problemOf('recall')).toContain('the name belongs to a tool of Familiar')
    expect(home.registry.find('recall')).toBe(builtin[0])
    expect((await home.run('one')).text).toBe('first')
    const ones = (await home.catalog.list('max')).filter(({ name }) => name === 'one')
    expect(ones.map(({ problem }) => problem)).toEqual([
      null,
      expect.stringContaining(`there is another tool of this name in ${join(home.directory, 'one')}. Give it`),
    ])
  })

  it('SEC-14 leaves hidden files out of what runs', async () => {
    home.writeTool('one', {
      ...bashTool('one', 'ls -A | tr "\\n" " " | jq -R "{text: .}"'),
      '.env': 'KEY=1',
      '.git/config': 'x',
    })
    await home.start()
    expect((await home.run('one')).text).toBe('manifest.json runner.sh ')
  })
})
