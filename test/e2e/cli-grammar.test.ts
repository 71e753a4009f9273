import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { cleanUp, familiar, familiarJson, newHome, serveFamiliar, temporaryDirectory } from './cli-process.ts'

afterEach(cleanUp)

it('CLI-3 lists with every bare group, under all of its names, and exits with 0', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  const groups = ['memory', 'mem', 'tools', 'tool', 'users', 'tokens', 'token', 'schedules', 'schedule', 'skills']
  for (const group of [
    ...groups,
    'caps',
    'capabilities',
    'secrets',
    'sessions',
    'approvals',
    'outbox',
    'models',
    'config',
  ])
    expect(await familiar([group], { home }), group).toMatchObject({ code: 0 })
  for (const list of [
    ['sessions', 'list'],
    ['users', 'ls'],
    ['mcp', 'list'],
    ['files', 'ls'],
    ['telegram'],
    ['import'],
  ])
    expect(await familiarJson(list, { home }), list.join(' ')).toBeTypeOf('object')
}, 120_000)

it('CLI-3 finds a session by argument or option in every command, and refuses a bad new name', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  await familiar(['send', '--session', 'work', 'Remember that the key is with Ruth'], { home })
  for (const command of ['history', 'log', 'context', 'cancel']) {
    const byArgument = await familiar([command, 'work', '--json'], { home })
    expect(byArgument.code, command).toBe(0)
    expect(await familiar([command, '--session', 'work', '--json'], { home }), command).toMatchObject({
      code: 0,
      stdout: byArgument.stdout,
    })
  }
  const refused = await familiar(['send', '--session', 'bad name!', 'Hello'], { home })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('A session name may only contain letters') })
  const sessions = (await familiarJson(['sessions'], { home })) as { sessions: { contact: string }[] }
  expect(sessions.sessions.map(({ contact }) => contact)).toEqual(['work'])
  expect(await familiarJson(['sessions', 'rename', 'work', 'Keys', 'and', 'locks'], { home })).toMatchObject({
    contact: 'work',
    title: 'Keys and locks',
  })
  const archived = await familiar(['sessions', 'archive', '--session', 'work', '--yes'], { home })
  expect(archived).toMatchObject({ code: 0, stdout: expect.stringContaining('1 session archived') })
}, 120_000)

it('CLI-3 looks before it asks', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  const user = await familiar(['users', 'remove', 'ada'], { home })
  expect(user).toMatchObject({ code: 1, stderr: 'Error: There is no user "ada".\nUsers: owner\n' })
  const backup = await familiar(['restore', join(home, 'nope')], { home })
  expect(backup).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no backup at') })
  const rotated = await familiar(['tokens', 'rotate'], { home })
  expect(rotated).toMatchObject({ code: 2, stderr: 'Error: Not a terminal: pass --yes to confirm\n' })
})

it('CLI-3 prints the version in every usual way', async () => {
  const home = newHome()
  const [first, ...others] = await Promise.all(
    [['--version'], ['-v'], ['-V'], ['version']].map((args) => familiar(args, { home })),
  )
  expect(first?.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  for (const other of others) expect(other).toEqual(first)
})

it('CLI-3 opens the page with a link that signs in', async () => {
  const home = newHome()
  expect(await familiar(['send', 'Hello'], { home })).toMatchObject({ code: 0 })
  const closed = await familiar(['open'], { home })
  expect(closed).toMatchObject({ code: 1, stderr: expect.stringContaining('Familiar is not running') })
  const daemon = await serveFamiliar({ home })
  const opened = await familiarJson(['open'], { home, env: { PATH: '/nowhere' } })
  expect(opened).toMatchObject({ url: expect.stringContaining(`${daemon.url}/#sign-in=`), opened: false })
})

it('CLI-4 reads and changes the configuration, keeps its comments, and writes nothing that is not allowed', async () => {
  const home = newHome()
  await familiar(['send', 'Hello'], { home })
  const file = join(home, 'familiar.toml')
  writeFileSync(file, '# My limits\n[budget]\nper_day_usd = 3 # a coffee\n')
  expect((await familiar(['config', 'get', 'budget.per_day_usd'], { home })).stdout).toBe('3\n')
  expect(await familiar(['config', 'set', 'budget.per_day_usd', '5'], { home })).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('It takes effect when Familiar starts'),
  })
  expect(readFileSync(file, 'utf8')).toBe('# My limits\n[budget]\nper_day_usd = 5 # a coffee\n')
  expect(await familiarJson(['config', 'set', 'agent.name', '42'], { home })).toMatchObject({ value: '42' })
  const written = readFileSync(file, 'utf8')
  const unknown = await familiar(['config', 'set', 'budget.per_dya_usd', '5'], { home })
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean per_day_usd?') })
  const wrong = await familiar(['config', 'set', 'budget.per_day_usd', 'lots'], { home })
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('must be a number') })
  expect(readFileSync(file, 'utf8')).toBe(written)
  const mistyped = await familiar(['config', 'get', 'budgt'], { home })
  expect(mistyped).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean budget?') })
  expect((await familiar(['config', 'path'], { home })).stdout).toBe(`${file}\n`)
})

it('CLI-4 applies a change at once if Familiar runs, and names what needs a restart', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  const applied = await familiarJson(['config', 'set', 'budget.per_day_usd', '5'], { home })
  expect(applied).toMatchObject({ applied: true, restart_needed: [] })
  const later = await familiarJson(['config', 'set', 'http.max_streams', '9'], { home })
  expect(later).toMatchObject({ applied: true, restart_needed: ['http'] })
})

it('CLI-4 lists, tests and chooses models', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  expect(await familiarJson(['models'], { home })).toMatchObject({ current: 'offline/offline' })
  expect(await familiarJson(['models', 'test'], { home })).toMatchObject({ model: 'offline/offline', ok: true })
  const unknown = await familiar(['models', 'use', 'offline/ofline'], { home })
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean offline/offline?') })
  expect(await familiar(['models', 'use', 'offline/offline'], { home })).toMatchObject({ code: 0 })
  expect(readFileSync(join(home, 'familiar.toml'), 'utf8')).toContain('primary = "offline/offline"')
})

it('CLI-3 removes a skill of the workspace, after a question', async () => {
  const home = newHome()
  await familiar(['skills', 'new', 'invoices'], { home })
  const unasked = await familiar(['skills', 'rm', 'invoices'], { home })
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes to confirm') })
  expect(await familiarJson(['skills', 'remove', 'invoices', '--yes'], { home })).toMatchObject({ removed: true })
  expect(await familiarJson(['skills'], { home })).toEqual({ skills: [] })
})

it('CLI-2 uninstall says what it does, and deletes only a home of Familiar', async () => {
  const home = newHome()
  await familiar(['send', 'Hello'], { home })
  const other = temporaryDirectory()
  const refused = await familiar(['uninstall', '--data', '--yes', '--home', other], { home })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no Familiar home at') })
  expect(existsSync(other)).toBe(true)
  const unasked = await familiar(['uninstall', '--data'], { home })
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining(`- delete ${home} with all conversations`) })
  expect(await familiarJson(['uninstall', '--data', '--yes'], { home })).toEqual({
    stopped: false,
    service_removed: false,
    data_deleted: true,
  })
  expect(existsSync(home)).toBe(false)
})
