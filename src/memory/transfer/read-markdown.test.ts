import fc from 'fast-check'
import { expect, it } from 'vitest'
import { itemText, readMarkdownRecords, sections } from './markdown.ts'
import { numberLines } from './plain-notes.ts'
import { parseRecord, type WrittenRecord } from './record.ts'

const odd = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'\n\r#^-*+>=\\[]<!&; \tab1.:`~|%\u2028\u00a0א') }),
    fc.constantFrom('- 2026-11-15 x ^id', '  - title: x', '## Notes', '&#13;', 'a\n\n  - who: b', '1) x', 'x = y'),
  )
  .map((text) => `(${text})`)
const name = odd.map((text) => text.replaceAll(/\s+/g, ' '))
const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
const wholeDay = time.map((text) => text.replace(/T.*/, ''))
const share = fc.double({ min: 0, max: 1, noNaN: true })
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const common = {
  type: fc.constant('memory' as const),
  id: odd,
  content: odd,
  title: maybe(name),
  tags: fc.array(name, { maxLength: 3 }),
  tier: fc.constantFrom('long_term' as const, 'short_term' as const),
  priority: share.filter((value) => value !== 0.5 && value !== 0.8),
  source: fc.constantFrom('user' as const, 'agent' as const, 'import' as const),
  // Defaults are not written; the reader restores them.
  label: fc.constant('untrusted' as const),
  thread_id: maybe(odd),
  position: maybe(fc.integer()),
  happened_from: maybe(time),
  created_at: wholeDay,
  superseded_at: maybe(time),
  superseded_by: maybe(odd),
}

const records: fc.Arbitrary<WrittenRecord> = fc.oneof(
  fc.record({ ...common, kind: fc.constantFrom('note' as const, 'chunk' as const) }),
  fc.record({
    ...common,
    kind: fc.constant('fact' as const),
    fact: fc.record({
      entity: name,
      attribute: name,
      value: name,
      confidence: share,
      valid_from: wholeDay,
      valid_to: maybe(time),
    }),
  }),
  fc.record({
    ...common,
    kind: fc.constant('episode' as const),
    episode: fc.record({
      topics: fc.array(name, { maxLength: 3 }),
      decisions: fc.array(name, { maxLength: 3 }),
      tone: maybe(name),
      started_at: time,
      ended_at: time,
    }),
  }),
  fc.record({
    ...common,
    kind: fc.constant('commitment' as const),
    commitment: fc.record({
      who: name,
      to_whom: maybe(name),
      what: name,
      deadline: maybe(time),
      state: fc.constantFrom('open' as const, 'done' as const, 'cancelled' as const),
      closed_at: maybe(time),
    }),
  }),
  fc.record({ type: fc.constant('alias' as const), alias: name, entity: name }),
  fc.record({ type: fc.constant('attribute' as const), attribute: name, is_multi_valued: fc.boolean() }),
  fc.record({ type: fc.constant('folder' as const), path: odd }),
  fc.record({
    type: fc.constant('edge' as const),
    source_id: odd,
    target_id: odd,
    relation: name,
    weight: share,
    created_at: wholeDay,
  }),
)

it('MEM-14 reads every item as it was written, whatever its content', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(records, { maxLength: 5 }), async (written) => {
      const document = written.flatMap((record) => ['', `## ${sectionOf(record)}`, '', ...itemText(record)])
      const lines = numberLines(document.join('\n').split('\n'))
      const found = await Array.fromAsync(readMarkdownRecords(lines))
      const read = found.map((item) => ('value' in item ? parseRecord(item.value) : item))
      expect(read).toEqual(written.map(parseRecord))
    }),
    { numRuns: 300 },
  )
})

function sectionOf(record: WrittenRecord): string {
  const held = record.type === 'memory' ? record.kind : record.type
  return sections.find(({ holds }) => holds === held)?.title ?? ''
}
