import { describe, expect, it } from 'vitest'
import { createKeptMedia } from '../../../test/support/kept-media.ts'
import { systemClock } from '../../base/clock.ts'
import { createRunChild } from '../../base/processes.ts'
import { estimateTokens } from '../../base/tokens.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { openLoopbackProxy } from '../../security/network/sandbox-proxy.ts'
import { createOutsideTools, type OutsideNeeds } from './outside-tools.ts'

const clock = systemClock()

function outside(settings: Partial<ReturnType<OutsideNeeds['settings']>> = {}) {
  return createOutsideTools({
    settings: () => ({
      webSearch: null,
      browser: { executable: null },
      exec: { host: 'ask' },
      tts: { provider: 'system', apiKey: null, voice: null },
      ...settings,
    }),
    allowedHosts: () => [],
    openFetch: (allowedHosts) => createGuardedFetch({ allowedHosts }),
    openProxy: () => openLoopbackProxy(),
    runChild: createRunChild({ clock }),
    putMedia: createKeptMedia().putMedia,
    browserDirectory: '/nowhere',
    environment: {},
    isRoot: false,
    clock,
  })
}

describe('createOutsideTools', () => {
  it('TOOLS-2 are found on demand, not sent with every request, and cost little when found', () => {
    const { tools } = outside()
    const tokens = Object.fromEntries(
      tools.map(({ definition }) => [definition.name, estimateTokens(JSON.stringify(definition))]),
    )
    console.info('outside tools, tokens:', tokens)
    expect(tools.map(({ core }) => core)).toEqual(tools.map(() => false))
    expect(Object.keys(tokens)).toEqual(['web_fetch', 'web_search', 'browser', 'tts', 'chart'])
    expect(Math.max(...Object.values(tokens))).toBeLessThan(250)
  })
})
