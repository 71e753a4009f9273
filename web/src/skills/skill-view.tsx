import { useState } from 'react'
import type { SkillReply } from '../../../src/protocol/skill-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { Panel, Screen, Section } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'
import { useWho } from '../shell/who.ts'
import { reasonOf, SkillStatus } from './skill-status.tsx'

const origins = {
  workspace: 'from your workspace',
  imported: 'brought from elsewhere',
  directory: 'from a folder that the config names',
}

export function SkillView({ name }: { name: string }) {
  const toasts = useToasts()
  const { scope } = useWho()
  const path = `/skills/${encodeURIComponent(name)}`
  const { data: skill, error, refresh, put } = useAnswer<SkillReply>(path)
  const [isAsking, setIsAsking] = useState(false)

  async function disable(): Promise<void> {
    setIsAsking(false)
    try {
      put(await ask<SkillReply>(`${path}/disable`, { body: {} }))
      toasts.done(`${name} is off.`)
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  return (
    <Screen
      title={name}
      intro={skill?.description}
      back={{ href: '/skills', label: 'All skills' }}
      actions={
        skill?.status === 'on' &&
        scope === 'owner' && (
          <Button kind="danger" onClick={() => setIsAsking(true)}>
            Switch off
          </Button>
        )
      }
    >
      {error && <Failure error={error} onRetry={refresh} />}
      {skill && (
        <>
          <p className="mb-4 flex flex-wrap gap-x-3 gap-y-1 text-sm text-soft">
            <SkillStatus skill={skill} />
            <span>{origins[skill.origin]}</span>
            {skill.license && <span>licence: {skill.license}</span>}
            {skill.compatibility && <span>{skill.compatibility}</span>}
          </p>
          {skill.status === 'error' && skill.problem && (
            <div className="mb-4">
              <Notice kind="error">{skill.problem}</Notice>
            </div>
          )}
          {skill.status === 'off' && <HowToEnable skill={skill} />}
          {skill.notes.length > 0 && (
            <Section title="Worth knowing">
              <ul className="list-disc space-y-1 ps-5 text-sm">
                {skill.notes.map((note) => (
                  <li key={note}>{note}</li>
                ))}
              </ul>
            </Section>
          )}
          <Section title="What Familiar reads">
            <Panel>
              {skill.instructions.trim() === '' ? (
                <p className="text-soft">It says nothing.</p>
              ) : (
                <Markdown text={skill.instructions} />
              )}
            </Panel>
          </Section>
          {skill.files.length > 0 && (
            <Section title="Files that it brings">
              <ul className="space-y-1 font-mono text-sm">
                {skill.files.map(({ path: file, bytes }) => (
                  <li key={file} className="flex justify-between gap-3">
                    <span className="min-w-0">{file}</span>
                    <span className="shrink-0 text-soft">{bytes.toLocaleString()} bytes</span>
                  </li>
                ))}
              </ul>
            </Section>
          )}
          <p className="font-mono text-xs text-soft">{skill.directory}</p>
        </>
      )}
      <Dialog isOpen={isAsking} onClose={() => setIsAsking(false)} title={`Switch ${name} off?`}>
        <p>Familiar no longer reads it. To switch it on again you need a terminal on this machine.</p>
        <div className="mt-4 flex gap-2">
          <Button kind="danger" onClick={() => void disable()}>
            Switch off
          </Button>
          <Button onClick={() => setIsAsking(false)}>Leave it on</Button>
        </div>
      </Dialog>
    </Screen>
  )
}

/** A skill can say anything to the model: the word for it is given where nobody else can type (SEC-4). */
function HowToEnable({ skill }: { skill: SkillReply }) {
  return (
    <Section title="To switch it on">
      <p className="mb-2 text-sm text-soft">
        {reasonOf(skill)} Read what it says below. Then give your word for it in a terminal on this machine; no page and
        no message can.
      </p>
      <CodeBlock language="sh" code={`familiar skills enable ${skill.name}`} />
    </Section>
  )
}
