import type { ModelsReply } from '../../../src/protocol/home-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge } from '../components/badge.tsx'
import { CommandLine } from '../components/command-line.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { useWho } from '../shell/who.ts'
import { ChooseModel } from './choose-model.tsx'
import { ModelCard } from './model-card.tsx'
import { routeWords } from './route-words.ts'

export function ModelsScreen() {
  const { is_owner } = useWho()
  const { data, error, refresh } = useAnswer<ModelsReply>('/models')
  const isOffline = data?.models.every((model) => model.is_offline)
  return (
    <Screen title="Models" intro="Who answers, what each is used for and what it costs.">
      {error && <Failure error={error} onRetry={refresh} />}
      {data && (
        <>
          {isOffline && (
            <div className="mb-6">
              <Notice kind="warning">
                <p>
                  No language model is set up. Remembering and recalling work without one; talking needs one. In a
                  terminal on this machine:
                </p>
                <div className="mt-2 text-ink">
                  <CommandLine command="familiar setup" />
                </div>
              </Notice>
            </div>
          )}
          <Section title="Who answers what">
            <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
              {data.routes.map(({ name, models }) => (
                <li key={name} className="grid gap-x-4 px-4 py-2.5 sm:grid-cols-[14rem_1fr]">
                  <span className="text-soft">{routeWords(name)}</span>
                  <span className="min-w-0">
                    <span className="font-mono text-sm">{models[0]}</span>
                    {models.length > 1 && (
                      <span className="block text-sm text-soft">where it fails: {models.slice(1).join(', ')}</span>
                    )}
                  </span>
                </li>
              ))}
            </ul>
          </Section>
          <Section title="The models" actions={<Badge>{data.models.length} in all</Badge>}>
            <ul className="grid gap-3 md:grid-cols-2">
              {data.models.map((model) => (
                <ModelCard key={model.id} model={model} isCurrent={model.id === data.current} />
              ))}
            </ul>
          </Section>
          <Section title="Another one for one conversation">
            <ChooseModel models={data.models} />
          </Section>
          {is_owner && (
            <Section title="To add or change one">
              <p className="mb-2 text-soft">
                Keys and addresses of providers are set on the machine itself, never over the network: by the assistant,
                or in <code className="font-mono text-sm">providers.d/</code> and{' '}
                <code className="font-mono text-sm">familiar.toml</code>.
              </p>
              <CommandLine command="familiar setup" />
            </Section>
          )}
        </>
      )}
    </Screen>
  )
}
