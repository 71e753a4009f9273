import type { MemoryStatsReply } from '../../../../src/protocol/memory-upkeep-api.ts'
import { Notice } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { type Kind, kindNames } from '../words.ts'
import { formatBytes } from './bytes.ts'

export function StoreFigures({ stats }: { stats: MemoryStatsReply }) {
  const { memories, superseded, edges, files, embedding, database_bytes } = stats
  const figures: [string, string][] = [
    ...Object.entries(memories).map(([kind, count]): [string, string] => [
      `${kindNames[kind as Kind]}s`,
      number(count),
    ]),
    ['Superseded', number(superseded)],
    ['Joined by edges', number(edges)],
    ['Files', files.files === 0 ? '0' : `${number(files.files)}, ${formatBytes(files.bytes)}`],
    ['Database', formatBytes(database_bytes)],
  ]
  return (
    <Section title="How much there is">
      <dl className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
        {figures.map(([name, value]) => (
          <div key={name} className="flex flex-col-reverse rounded-xl bg-sunken px-3 py-2">
            <dt className="text-xs text-soft">{name}</dt>
            <dd className="text-lg font-semibold tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-sm text-soft">
        {embedding
          ? `${number(embedding.embedded)} of ${number(embedding.total)} are found by meaning (${embedding.model})${embedding.is_running ? '; the others follow now' : ''}.`
          : 'Nothing is embedded: recall goes by words alone.'}
      </p>
      {embedding?.problem && <Notice kind="warning">{embedding.problem}</Notice>}
    </Section>
  )
}

function number(count: number): string {
  return count.toLocaleString()
}
