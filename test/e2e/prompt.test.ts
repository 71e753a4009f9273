import { describe, expect, it } from 'vitest'
import { measurePrompt } from '../../bench/measure-prompt.ts'
import { estimateTokens, tokenizerName } from '../../src/base/tokens.ts'
import { startFamiliar } from '../support/running-familiar.ts'

describe.each(['anthropic', 'openai-compatible'] as const)('the request to %s', (wire) => {
  it('CTX-4 CTX-5 fifty turns repeat their prefix, and the first request is small', async () => {
    const figures = await measurePrompt(wire, 50)
    console.log(JSON.stringify(figures))
    expect(figures.worstPrefixReuse).toBeGreaterThanOrEqual(0.98)
    expect(figures.firstRequestTokens).toBeLessThan(1_500)
  })
})

describe('the context window', () => {
  it('CTX-6 CTX-7 is shown block by block, with the name of the estimate', async () => {
    const familiar = await startFamiliar()
    try {
      const { session_id } = await familiar.chat('hello')
      const response = await familiar.request('GET', `/api/v1/sessions/${session_id}/context`)
      const report = (await response.json()) as {
        tokenizer: string
        blocks: { name: string; tier: string; tokens: number }[]
      }
      expect(report.tokenizer).toBe(tokenizerName)
      const names = report.blocks.map((block) => block.name)
      expect(names.slice(0, 3)).toEqual(['tools', 'core', 'SOUL.md'])
      expect(names).toContain('conversation')
      expect(report.blocks.every((block) => block.tokens > 0)).toBe(true)
      expect(estimateTokens('one two three')).toBeGreaterThan(0)
    } finally {
      await familiar.close()
    }
  })
})
