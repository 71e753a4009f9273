import fastCheck from 'fast-check'
import { expect, it } from 'vitest'
import { describeChanges, type ListedTool, nameTools, readToolListing, serverFingerprint } from './tool-listing.ts'

const anyTool = fastCheck.oneof(
  fastCheck.jsonValue(),
  fastCheck.record(
    {
      name: fastCheck.oneof(fastCheck.string(), fastCheck.string({ unit: 'binary' }), fastCheck.constant('go')),
      description: fastCheck.string(),
      inputSchema: fastCheck.object(),
      annotations: fastCheck.record({ readOnlyHint: fastCheck.boolean() }),
    },
    { requiredKeys: ['name', 'inputSchema'] },
  ),
)
const settings = { command: 'server', args: [], environment: [] }

it('SEC-14 any listing is accepted or rejected with a reason, and its names are callable', () => {
  fastCheck.assert(
    fastCheck.property(fastCheck.array(anyTool, { maxLength: 5 }), fastCheck.array(anyTool), (listed, others) => {
      const listing = readToolListing(listed)
      if (!listing.ok) {
        expect(listing.problem).not.toBe('')
        return
      }
      const good = nameTools('one', listing.tools).filter(({ problem }) => problem === null)
      for (const { name } of good) expect(name).toMatch(/^mcp_one_[a-z0-9_]{1,56}$/)
      expect(new Set(good.map(({ name }) => name)).size).toBe(good.length)
      const again = readToolListing([...listed].reverse())
      const tools = again.ok ? again.tools : []
      expect(serverFingerprint(settings, tools)).toBe(serverFingerprint(settings, listing.tools))
      expect(describeChanges(listing.tools, tools)).toEqual([])
      const other = readToolListing(others)
      if (!other.ok) return
      const isSame = serverFingerprint(settings, other.tools) === serverFingerprint(settings, listing.tools)
      expect(describeChanges(listing.tools, other.tools).length === 0).toBe(isSame)
    }),
  )
})

it('SEC-14 shows the changed part of a long text, in one line', () => {
  const tool = (description: string): ListedTool => ({ name: 'go', description, inputSchema: { type: 'object' } })
  const before = `${'a '.repeat(500)}old\nwords${' z'.repeat(500)}`
  const lines = describeChanges([tool(before)], [tool(before.replace('old\nwords', 'new words, and more'))])
  expect(lines[0]).toBe('changed go, its description:')
  expect(lines[1]).toMatch(/^ {2}- … (a ){10,30}old words( z){10,30} …$/)
  expect(lines[2]).toMatch(/^ {2}\+ … (a ){10,30}new words, and more( z){10,30} …$/)
})
