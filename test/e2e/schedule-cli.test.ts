import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { familiar, familiarJson } from './cli-process.ts'
import { serveHome } from './serve-home.ts'

describe('familiar schedule', () => {
  let home: string
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ home, close } = await serveHome({ toml: '[memory]\nconversations = false\nextraction = false\n' }))
  })
  afterAll(() => close())

  const schedule = (...args: string[]) => familiar(['schedule', ...args], { home })

  it('SCHED-1 CLI-1 makes, lists, shows, sends and cancels messages', async () => {
    expect((await schedule('list')).stdout).toBe('No schedules.\n')
    const added = await schedule('add', '--cron', '0 7 * * 1-5', '--name', 'digest', 'Sum', 'up', 'the', 'day')
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S{36} {2}digest, next \d{4}-/) })
    const once = await familiarJson(['schedule', 'add', '--at', 'tomorrow at 9:00', 'Call Anna'], { home })
    expect(once).toMatchObject({ kind: 'once', message: 'Call Anna', session: 'main', author: 'user' })
    const listed = await schedule('list')
    expect(listed.stdout).toContain('0 7 * * 1-5')
    expect(listed.stdout).toContain('Call Anna')
    expect((await schedule('run', 'digest')).stdout).toBe('Result: delivered.\n')
    const shown = await schedule('show', 'digest')
    expect(shown.stdout).toContain('run the latest late')
    expect(shown.stdout).toMatch(/Runs:\n.*delivered/)
    expect((await schedule('cancel', 'digest')).stdout).toBe('Deleted: digest\n')
    expect((await schedule('list')).stdout).not.toContain('digest')
    expect((await schedule('list', '--all')).stdout).toContain('cancelled')
  })

  it('SCHED-1 CLI-1 a heartbeat says what it costs', async () => {
    const made = await schedule('heartbeat', '--every', '2h')
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('Each run is a model call') })
    expect((await schedule('show', 'Heartbeat')).stdout).toContain('heartbeat 0 */2 * * *')
  })

  it('CLI-1 says what is wrong', async () => {
    expect(await schedule('add', 'Hello')).toMatchObject({
      code: 2,
      stderr: 'Error: No time given: use --at or --cron.\n',
    })
    expect((await schedule('add', '--at', 'yesterday', 'x')).code).toBe(2)
    expect((await schedule('add', '--at', 'noon', '--cron', '*/5', 'x')).code).toBe(2)
    expect((await schedule('cancel', 'nothing')).stderr).toBe('Error: There is no schedule nothing.\n')
  })
})
