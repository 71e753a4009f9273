import { afterEach, describe, expect, it } from 'vitest'
import { cronTool, openTriggers, ranWith, type TriggerScene } from '../../../test/support/triggers.ts'
import { waitFor } from '../../../test/support/wait-for.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { catchUpMs } from './tool-triggers.ts'
import type { TriggeredTool } from './trigger-runs.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let scene: TriggerScene
afterEach(() => scene.close())

function untilAborted({ signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

/** Advances to a due time and waits for its runs. */
async function pass(milliseconds: number, calls: number): Promise<void> {
  await scene.clock.advance(milliseconds)
  await waitFor(async () => {
    // A timer may be set only now for something already due.
    await scene.clock.advance(0)
    expect(scene.calls).toHaveLength(calls)
  })
  await waitFor(async () => {
    expect((await scene.runs()).join()).not.toContain('running')
    expect(scene.isWriting()).toBe(false)
  })
}

describe('cron', () => {
  it('TOOL-7 runs a tool at its times, recorded before it starts', async () => {
    let seenWhileRunning: string[] = []
    scene = await openTriggers({
      tools: [cronTool('mail', '*/30')],
      run: async () => {
        seenWhileRunning = await scene.runs()
        return ranWith({ text: 'two new mails' })
      },
    })
    await scene.triggers.start()
    expect(await scene.runs()).toEqual(['2026-11-15T09:30 scheduled'])
    await pass(30 * minute, 1)
    expect(seenWhileRunning).toEqual(['2026-11-15T10:00 scheduled', '2026-11-15T09:30 running'])
    await pass(30 * minute, 2)
    expect(await scene.runs('mail')).toEqual([
      '2026-11-15T10:30 scheduled',
      '2026-11-15T10:00 done',
      '2026-11-15T09:30 done',
    ])
    expect(scene.calls[0]).toMatchObject({ userId: 'owner', name: 'mail', params: {}, caller: 'cron', state: {} })
  })

  it('TOOL-7 appends the output to the prompt, as an automated message in the main session', async () => {
    scene = await openTriggers({ tools: [cronTool('mail', '*/30')], run: async () => ranWith({ text: ' two mails ' }) })
    await scene.triggers.start()
    await pass(30 * minute, 1)
    expect(scene.messages).toEqual([
      {
        userId: 'owner',
        channel: 'http',
        contact: 'main',
        sender: 'tool:mail',
        source: 'cron',
        text: 'What mail found:\n\n[TOOL:mail]\ntwo mails\n[/TOOL]',
        media: [],
        key: expect.stringMatching(/^trigger:/),
        immediate: false,
        metadata: { tool: 'mail', run: expect.any(String) },
        label: 'untrusted',
      },
    ])
  })

  it.each([
    ['it says notify: false', {}, { text: 'x', notify: false }],
    ['its manifest says so', { notifiesByDefault: false }, { text: 'x' }],
    ['it has no text', {}, { text: '  ' }],
    ['it failed', {}, { ok: false, text: 'x', error: 'no network' }],
  ])('TOOL-13 sends nothing if %s, so that no model is called', async (_why, more, run) => {
    scene = await openTriggers({ tools: [cronTool('mail', '*/30', more)], run: async () => ranWith(run) })
    await scene.triggers.start()
    await pass(30 * minute, 1)
    expect(scene.messages).toEqual([])
  })

  it('TOOL-13 sends it if the tool asks for that, whatever its manifest says', async () => {
    const run = async () => ranWith({ text: 'alarm', notify: true })
    scene = await openTriggers({ tools: [cronTool('mail', '*/30', { notifiesByDefault: false })], run })
    await scene.triggers.start()
    await pass(30 * minute, 1)
    expect(scene.messages).toHaveLength(1)
  })

  it('TOOL-13 gives a tool its stored state, also after a restart', async () => {
    scene = await openTriggers({
      tools: [cronTool('mail', '*/30')],
      run: async ({ state }) => ranWith({ state: { seen: Number((state as { seen?: number }).seen ?? 0) + 1 } }),
    })
    await scene.triggers.start()
    await pass(30 * minute, 1)
    await pass(30 * minute, 2)
    await scene.restart(0)
    await pass(30 * minute, 3)
    expect(scene.calls.map(({ state }) => state)).toEqual([{}, { seen: 1 }, { seen: 2 }])
  })

  it('SEC-18 a state above its limit fails the run, and the previous one stays', async () => {
    const states = [{ seen: 1 }, { seen: 'x'.repeat(70_000) }, { seen: 3 }]
    scene = await openTriggers({
      tools: [cronTool('mail', '*/30')],
      run: async () => ranWith({ state: states[scene.calls.length - 1] ?? null }),
    })
    await scene.triggers.start()
    for (const calls of [1, 2, 3]) await pass(30 * minute, calls)
    expect(scene.calls.at(-1)?.state).toEqual({ seen: 1 })
    expect((await scene.runs())[2]).toBe('2026-11-15T10:00 failed')
  })

  it('TOOL-7 a tool that throws, or whose message is rejected, has failed; the next time still comes', async () => {
    scene = await openTriggers({
      tools: [cronTool('mail', '*/30')],
      run: async () => {
        if (scene.calls.length === 1) throw new Error('no sandbox')
        return ranWith({ text: 'x' })
      },
      submit: async () => {
        if (scene.calls.length === 2) throw new FamiliarError('rate_limited', 'Too many messages are waiting in all')
      },
    })
    await scene.triggers.start()
    for (const calls of [1, 2, 3]) await pass(30 * minute, calls)
    const rows = await scene.database.read.selectFrom('trigger_runs').selectAll().orderBy('due_at').execute()
    expect(rows.map(({ state, error }) => ({ state, error }))).toEqual([
      { state: 'failed', error: 'no sandbox' },
      { state: 'failed', error: 'Too many messages are waiting in all' },
      { state: 'done', error: null },
      { state: 'scheduled', error: null },
    ])
  })

  it('TOOL-7 never runs a tool twice at once: runs that come due meanwhile are missed', async () => {
    const end = Promise.withResolvers<void>()
    scene = await openTriggers({
      tools: [cronTool('slow', '*/30'), cronTool('quick', '*/30')],
      run: async ({ name }) => {
        if (name === 'slow') await end.promise
        return ranWith()
      },
    })
    await scene.triggers.start()
    await scene.clock.advance(30 * minute)
    await waitFor(() => expect(scene.calls).toHaveLength(2))
    await scene.clock.advance(30 * minute)
    await waitFor(() => expect(scene.calls).toHaveLength(3))
    expect(scene.calls.map(({ name }) => name).sort()).toEqual(['quick', 'quick', 'slow'])
    await waitFor(async () =>
      expect(await scene.runs('slow')).toEqual([
        '2026-11-15T10:30 scheduled',
        '2026-11-15T10:00 missed',
        '2026-11-15T09:30 running',
      ]),
    )
    end.resolve()
  })

  it('TOOL-7 uses the user’s time zone over a clock change', async () => {
    const start = Date.parse('2026-03-27T12:00:00Z')
    scene = await openTriggers({ tools: [cronTool('digest', '0 7 * * 1-5')], timeZone: 'Europe/Malta', start })
    await scene.triggers.start()
    expect(await scene.runs()).toEqual(['2026-03-30T05:00 scheduled'])
    await pass(Date.parse('2026-03-30T05:00:00Z') - start, 1)
    expect(await scene.runs()).toEqual(['2026-03-31T05:00 scheduled', '2026-03-30T05:00 done'])
  })

  it('TOOL-7 waits months for a yearly run', async () => {
    scene = await openTriggers({ tools: [cronTool('taxes', '0 9 1 5 *')] })
    await scene.triggers.start()
    await pass(Date.parse('2027-05-01T09:00:00Z') - scene.clock.now(), 1)
    expect(await scene.runs()).toEqual(['2028-05-01T09:00 scheduled', '2027-05-01T09:00 done'])
  })

  it('COST-2 has one timer, and none if no tool has a schedule', async () => {
    scene = await openTriggers({ tools: [] })
    await scene.triggers.start()
    expect(scene.clock.timers()).toBe(0)
    scene.tools.push(cronTool('a', '*/30'), cronTool('b', '0 7 * * *'))
    scene.triggers.refresh()
    await waitFor(() => expect(scene.clock.timers()).toBe(1))
    scene.tools.length = 0
    scene.triggers.refresh()
    await waitFor(() => expect(scene.clock.timers()).toBe(0))
    expect(await scene.runs()).toEqual([])
  })

  it('TOOL-7 follows tools that are added, changed and removed', async () => {
    scene = await openTriggers({ tools: [cronTool('mail', '*/30'), cronTool('broken', 'every day')] })
    await scene.triggers.start()
    expect(scene.warnings.join()).toContain('has 2 fields')
    scene.tools.splice(0, 2, cronTool('mail', '0 7 * * *'), cronTool('news', '15 * * * *'))
    scene.triggers.refresh()
    await waitFor(async () =>
      expect(await scene.runs()).toEqual(['2026-11-16T07:00 scheduled', '2026-11-15T09:15 scheduled']),
    )
    await pass(15 * minute, 1)
    expect(scene.calls[0]?.name).toBe('news')
  })
})

describe('missed runs', () => {
  it('TOOL-7 the newest recent one is made up for once, and the rest is reported', async () => {
    scene = await openTriggers({ tools: [cronTool('mail', '*/30')] })
    await scene.triggers.start()
    await scene.restart(2 * hour + 10 * minute)
    await waitFor(() => expect(scene.messages).toHaveLength(1))
    await waitFor(async () =>
      expect(await scene.runs()).toEqual([
        '2026-11-15T11:30 scheduled',
        '2026-11-15T11:00 done late by 10',
        '2026-11-15T10:30 missed',
        '2026-11-15T10:00 missed',
        '2026-11-15T09:30 missed',
      ]),
    )
    expect(scene.calls).toHaveLength(1)
    expect(scene.warnings.join()).toContain('"missed":3')
  })

  it('TOOL-7 for a tool that never ran, count from when it was first seen', async () => {
    scene = await openTriggers({ tools: [cronTool('digest', '0 7 * * *')] })
    await scene.triggers.start()
    await scene.restart(day)
    await waitFor(async () =>
      expect(await scene.runs()).toEqual(['2026-11-17T07:00 scheduled', '2026-11-16T07:00 done late by 120']),
    )
  })

  it('TOOL-7 are not made up for when too old', async () => {
    scene = await openTriggers({ tools: [cronTool('digest', '0 7 * * *')] })
    await scene.triggers.start()
    await scene.restart(22 * hour + catchUpMs + minute)
    expect(await scene.runs()).toEqual(['2026-11-17T07:00 scheduled', '2026-11-16T07:00 missed'])
    expect(scene.calls).toEqual([])
  })

  it('SEC-18 are recorded at most fifty times, newest first', async () => {
    scene = await openTriggers({ tools: [cronTool('mail', '*/1')] })
    await scene.triggers.start()
    await scene.restart(20 * day)
    await waitFor(() => expect(scene.calls).toHaveLength(1))
    const runs = await scene.runs()
    expect(runs.filter((line) => line.includes('missed'))).toHaveLength(49)
    expect(runs[2]).toBe('2026-12-05T08:59 missed')
    expect(scene.warnings.join()).toContain('"missed":"49 or more"')
  })

  it('TOOL-7 are handled the same after a clock jump at runtime', async () => {
    scene = await openTriggers({ tools: [cronTool('digest', '0 7 * * *')] })
    await scene.triggers.start()
    // The machine slept for three and a half days; the timer notices afterwards.
    scene.clock.setTime(scene.clock.now() + 3 * day + 12 * hour)
    await pass(5 * minute, 0)
    await waitFor(async () => expect(await scene.runs()).toHaveLength(4))
    expect(await scene.runs()).toEqual([
      '2026-11-19T07:00 scheduled',
      '2026-11-18T07:00 missed',
      '2026-11-17T07:00 missed',
      '2026-11-16T07:00 missed',
    ])
  })

  it('TOOL-7 do not count while a tool was removed', async () => {
    scene = await openTriggers({ tools: [cronTool('mail', '*/30')] })
    await scene.triggers.start()
    const [mail] = scene.tools.splice(0)
    await scene.restart(hour)
    if (mail) scene.tools.push(mail)
    await scene.clock.advance(3 * hour)
    scene.triggers.refresh()
    await waitFor(async () => expect(await scene.runs()).toEqual(['2026-11-15T13:30 scheduled']))
  })

  it('TOOL-7 are kept while their tool is still being prepared', async () => {
    scene = await openTriggers({ tools: [cronTool('digest', '0 7 * * *')] })
    await scene.triggers.start()
    const [digest] = scene.tools.splice(0)
    scene.building.add('digest')
    await scene.restart(day)
    expect(await scene.runs()).toEqual(['2026-11-16T07:00 scheduled'])
    if (digest) scene.tools.push(digest)
    scene.triggers.refresh()
    await waitFor(async () =>
      expect(await scene.runs()).toEqual(['2026-11-17T07:00 scheduled', '2026-11-16T07:00 done late by 120']),
    )
  })

  it('TOOL-7 a run interrupted by a crash has failed, and is not repeated', async () => {
    scene = await openTriggers({
      tools: [cronTool('mail', '0 * * * *')],
      run: () => (scene.calls.length === 1 ? new Promise(() => {}) : Promise.resolve(ranWith())),
    })
    await scene.triggers.start()
    await scene.clock.advance(hour)
    await waitFor(() => expect(scene.calls).toHaveLength(1))
    await scene.restart(minute)
    const [row] = await scene.database.read.selectFrom('trigger_runs').selectAll().orderBy('due_at').execute()
    expect(row).toMatchObject({ state: 'failed', error: 'Interrupted: Familiar stopped while it ran.' })
    expect(scene.calls).toHaveLength(1)
  })
})

describe('webhooks', () => {
  const hook: TriggeredTool = { name: 'mail', trigger: { kind: 'webhook' }, prompt: '', notifiesByDefault: true }
  const callOf = (nonce: string) => ({
    tool: 'mail',
    timestamp: '0',
    nonce,
    signature: undefined,
    body: Buffer.from(`{"nonce":"${nonce}"}`),
  })

  it('TOOL-7 accepted ones that had not started run after a restart; started ones are not repeated', async () => {
    scene = await openTriggers({
      tools: [hook],
      run: () => (scene.calls.length === 1 ? new Promise(() => {}) : Promise.resolve(ranWith({ text: 'x' }))),
    })
    await scene.triggers.start()
    for (const nonce of ['first', 'second', 'third']) await scene.triggers.webhooks.accept(callOf(nonce))
    await waitFor(() => expect(scene.calls).toHaveLength(1))
    await waitFor(async () => expect((await scene.runs()).join()).toContain('running'))
    await scene.restart(minute)
    await waitFor(() => expect(scene.messages).toHaveLength(2))
    expect(scene.calls.map(({ params }) => (params as { nonce: string }).nonce)).toEqual(['first', 'second', 'third'])
    expect(scene.messages[0]).toMatchObject({ source: 'webhook', text: '[TOOL:mail]\nx\n[/TOOL]' })
  })

  it('SEC-18 at most a hundred wait for a slow tool', async () => {
    scene = await openTriggers({ tools: [hook], run: untilAborted })
    await scene.triggers.start()
    await scene.triggers.webhooks.accept(callOf('running'))
    await waitFor(() => expect(scene.calls).toHaveLength(1))
    for (let index = 0; index < 100; index += 1) {
      scene.clock.setTime(scene.clock.now() + 2_000)
      await scene.triggers.webhooks.accept(callOf(`waiting-${index}`))
    }
    scene.clock.setTime(scene.clock.now() + 2_000)
    await expect(scene.triggers.webhooks.accept(callOf('one-more'))).rejects.toMatchObject({ code: 'rate_limited' })
    await scene.triggers.close()
    expect(scene.calls).toHaveLength(1)
  })

  it('TOOL-7 that arrive before the start wait for it, and nothing else starts before', async () => {
    scene = await openTriggers({ tools: [hook, cronTool('digest', '*/1')] })
    await scene.triggers.webhooks.accept(callOf('early'))
    scene.triggers.refresh()
    await scene.clock.advance(5 * minute)
    expect(await scene.runs()).toEqual(['2026-11-15T09:00 scheduled'])
    await scene.triggers.start()
    await waitFor(() => expect(scene.calls).toHaveLength(1))
    expect(scene.calls[0]).toMatchObject({ name: 'mail', caller: 'webhook' })
  })

  it('TOOL-7 start once, however often they are picked up', async () => {
    scene = await openTriggers({ tools: [hook] })
    await scene.triggers.start()
    for (const nonce of ['first', 'second']) {
      const accepted = scene.triggers.webhooks.accept(callOf(nonce))
      for (let again = 0; again < 20; again += 1) scene.triggers.refresh()
      await accepted
    }
    await waitFor(async () => expect((await scene.runs()).join()).toBe('2026-11-15T09:00 done,2026-11-15T09:00 done'))
    expect(scene.calls).toHaveLength(2)
  })

  it('TOOL-7 wait for a tool that is still being prepared', async () => {
    scene = await openTriggers({ tools: [] })
    scene.building.add('mail')
    await scene.triggers.start()
    await scene.triggers.webhooks.accept(callOf('early'))
    scene.triggers.refresh()
    expect(await scene.runs()).toEqual(['2026-11-15T09:00 scheduled'])
    scene.building.clear()
    scene.tools.push(hook)
    scene.triggers.refresh()
    await waitFor(async () => expect(await scene.runs()).toEqual(['2026-11-15T09:00 done']))
    expect(scene.calls).toHaveLength(1)
  })

  it('TOOL-7 fail for a tool that was removed meanwhile', async () => {
    scene = await openTriggers({ tools: [hook] })
    await scene.triggers.start()
    const accepted = scene.triggers.webhooks.accept(callOf('last'))
    scene.tools.length = 0
    await accepted
    await waitFor(async () => expect((await scene.runs()).join()).toContain('failed'))
    expect(scene.calls).toEqual([])
  })
})

describe('close', () => {
  it('TOOL-7 ends running tools and starts nothing more', async () => {
    scene = await openTriggers({
      tools: [cronTool('slow', '*/30')],
      run: untilAborted,
    })
    await scene.triggers.start()
    await scene.clock.advance(30 * minute)
    await waitFor(() => expect(scene.calls).toHaveLength(1))
    await scene.triggers.close()
    expect(await scene.runs()).toEqual(['2026-11-15T10:00 scheduled', '2026-11-15T09:30 failed'])
    expect(scene.clock.timers()).toBe(0)
  })
})
