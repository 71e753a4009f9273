import type { SkillSummaryReply, SkillsReply } from '../../../src/protocol/skill-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { Screen } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'
import { Link } from '../shell/link.tsx'
import { partBehind } from '../shell/path-part.ts'
import { usePlace } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import { reasonOf, SkillStatus } from './skill-status.tsx'
import { SkillView } from './skill-view.tsx'

/** `/skills`, and `/skills/<name>` for one of them. */
export function SkillsScreen() {
  const { path } = usePlace()
  const name = partBehind(path)
  return name === undefined ? <SkillList /> : <SkillView name={name} />
}

function SkillList() {
  const toasts = useToasts()
  const { scope } = useWho()
  const { data, error, refresh, put } = useAnswer<SkillsReply>('/skills')

  async function reload(): Promise<void> {
    try {
      put(await ask<SkillsReply>('/skills/reload', { body: {} }))
      toasts.done('Looked again at the folders of skills.')
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  return (
    <Screen
      title="Skills"
      intro="Instructions that Familiar reads when a task needs them. They lie in folders on this machine; one from elsewhere is used only after you have looked at it."
      actions={scope === 'owner' && <Button onClick={() => void reload()}>Look again</Button>}
    >
      {error && <Failure error={error} onRetry={refresh} />}
      <ul className="space-y-2">
        {data?.skills.map((skill) => (
          <li key={skill.name}>
            <SkillRow skill={skill} />
          </li>
        ))}
      </ul>
      {data?.skills.length === 0 && (
        <Empty title="There are no skills yet">
          <p className="mb-3">
            A skill is a folder with a SKILL.md in it, which says how a certain task is done. Begin one in a terminal on
            this machine:
          </p>
          <div className="text-start">
            <CodeBlock language="sh" code="familiar skills new my-skill" />
          </div>
        </Empty>
      )}
    </Screen>
  )
}

function SkillRow({ skill }: { skill: SkillSummaryReply }) {
  return (
    <Link
      href={`/skills/${encodeURIComponent(skill.name)}`}
      className="flex items-center gap-3 rounded-xl border border-line bg-raised px-4 py-3 hover:bg-sunken"
    >
      <span className="min-w-0 flex-1">
        <span className="block font-medium">{skill.name}</span>
        <span className="block text-sm text-soft">{skill.description}</span>
        {skill.problem && <span className="block text-sm text-warn">{reasonOf(skill)}</span>}
      </span>
      <SkillStatus skill={skill} />
      <span className="text-soft">
        <Icon name="chevron_right" size={16} />
      </span>
    </Link>
  )
}
