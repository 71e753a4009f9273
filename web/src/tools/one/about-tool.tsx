import type { ToolReply } from '../../../../src/protocol/tool-api.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CommandLine } from '../../components/command-line.tsx'
import { Facts } from '../../components/facts.tsx'
import { Notice } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { duration } from '../../components/when.tsx'
import { kindNames, triggerNames } from '../tool-status.tsx'

export function AboutTool({ tool }: { tool: ToolReply }) {
  const { limits, refused_hosts } = tool
  const isFolder = tool.kind === 'contract'
  return (
    <>
      <Section title="What it is">
        <Facts
          facts={[
            ['Kind', kindNames[tool.kind]],
            ['Version', tool.version],
            ['Category', tool.category],
            ['Runs', triggerNames[tool.trigger]],
            ['Folder', tool.directory && <code className="font-mono text-[0.8125rem]">{tool.directory}</code>],
          ]}
        />
        {tool.notes.map((note) => (
          <div key={note} className="mt-3">
            <Notice>{note}</Notice>
          </div>
        ))}
      </Section>
      {isFolder && (
        <Section title="What it may do">
          <Facts
            facts={[
              ['Network', networkOf(tool)],
              ['Memory', limits && `${Math.round(limits.memory_bytes / 1024 ** 2)} MB at most`],
              ['Time', limits && `${duration(limits.timeout_ms)} at most`],
              ['Processes', limits && `${limits.processes} at most`],
              ['Its folder', limits && (limits.is_writable ? 'can be written' : 'is read-only')],
              ['Settings', tool.reads_argument && 'reach it in its argument'],
            ]}
          />
          {refused_hosts.length > 0 && (
            <div className="mt-3 space-y-2">
              <Notice kind="warning">
                It wanted to reach {refused_hosts.join(', ')} and was not let through. If you want that, in a terminal
                on this machine:
              </Notice>
              <CommandLine command={`familiar tools allow ${tool.name} ${refused_hosts.join(' ')}`} />
            </div>
          )}
        </Section>
      )}
      <Section title="What it is called with">
        <CodeBlock code={JSON.stringify(tool.parameters, null, 2)} language="JSON Schema" />
      </Section>
    </>
  )
}

function networkOf({ network }: ToolReply): string {
  const hosts = [...new Set([...network.declared, ...network.allowed])]
  if (network.mode === 'none') return 'It reaches no network.'
  if (network.mode === 'host') return 'It reaches this machine’s own network.'
  return hosts.length > 0 ? `It reaches ${hosts.join(', ')}, and nothing else.` : 'It may reach no host yet.'
}
