import type { CapabilityFilesReply, CapabilityReply } from '../../../../src/protocol/capability-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { Section } from '../../components/screen.tsx'
import { duration, timeAgo } from '../../components/when.tsx'
import { FigureRow } from '../../tools/figure-row.tsx'
import { CapabilityPermissions } from './capability-permissions.tsx'

interface AboutProps {
  capability: CapabilityReply
  path: string
  onChange(capability: CapabilityReply): void
}

export function AboutCapability({ capability, path }: AboutProps) {
  const { statistics, asked_as, tags } = capability
  const { data } = useAnswer<CapabilityFilesReply>(capability.version === null ? null : `${path}/files`)
  const textOf = (name: string) => data?.files.find((file) => file.path === name)?.text
  const runMd = textOf('RUN.md')
  const examples = textOf('examples.json')
  return (
    <>
      <FigureRow
        figures={[
          ['Calls', String(statistics.calls)],
          ['Failed', String(statistics.failures)],
          ['Usually takes', statistics.median_ms === null ? '–' : duration(statistics.median_ms)],
          [
            'Last called',
            statistics.last_called_at ? timeAgo(Date.parse(statistics.last_called_at), Date.now()) : 'never',
          ],
        ]}
      />
      {statistics.last_error && <p className="mb-6 text-sm text-bad">What failed last: {statistics.last_error}</p>}
      <Section title="What it may do">
        <CapabilityPermissions capability={capability} path={path} />
      </Section>
      {runMd && (
        <Section title="How it is used">
          <Markdown text={runMd} />
        </Section>
      )}
      {asked_as.length > 0 && (
        <Section title="How one would ask for it">
          <ul className="list-disc space-y-1 ps-5 text-sm text-soft">
            {asked_as.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </Section>
      )}
      {examples && (
        <Section title="Examples that it must pass">
          <CodeBlock code={pretty(examples)} language="examples.json" />
        </Section>
      )}
      <Section title="What it is called with">
        <p className="mb-2 text-sm text-soft">
          A model calls it as <code className="font-mono">{capability.tool}</code>
          {tags.length > 0 && `; it is found by ${tags.join(', ')}`}.
        </p>
        <CodeBlock code={JSON.stringify(capability.input_schema, null, 2)} language="JSON Schema" />
      </Section>
    </>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
