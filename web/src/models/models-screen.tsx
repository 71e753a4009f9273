import { type ReactNode, useState } from 'react'
import type { ListedModel, ModelsReply } from '../../../src/protocol/status.ts'
import { call, useAnswer } from '../api/call.ts'
import { useSessions } from '../chat/sessions.ts'
import { Badge, Button } from '../components/controls.tsx'
import { Failure, useToasts } from '../components/feedback.tsx'
import { type Choice, SelectField } from '../components/forms.tsx'
import { FieldList, Panel, Screen, Section } from '../components/layout.tsx'
import { useSettings } from '../settings/edit-settings.tsx'
import { useWho } from '../shell/account.tsx'
import { formatList, formatNumber, formatUsd } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { ConnectModel } from './connect-model.tsx'

const byRoute = 'default'

/** The command /model, for a conversation that is chosen here. */
function ChooseModel({ models }: { models: readonly ListedModel[] }) {
  const toasts = useToasts()
  const sessions = useSessions().filter(({ state }) => state === 'active')
  const [chosen, setChosen] = useState<string>()
  const [model, setModel] = useState(byRoute)
  const [isBusy, setIsBusy] = useState(false)
  const session = chosen ?? sessions[0]?.id
  if (session === undefined) return <p className="text-soft">{t.models.noConversationsYet}</p>

  async function choose(): Promise<void> {
    setIsBusy(true)
    try {
      const { ok, text } = await call('commands.run', { line: `/model ${model}`, session })
      if (ok) toasts.done(text)
      else toasts.failed(text)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <div className="flex flex-wrap items-end gap-3">
      <SelectField
        className="w-full sm:w-64"
        label={t.common.conversation}
        choices={sessions.map(({ id, title, contact }) => ({ value: id, label: title ?? contact }))}
        value={session}
        onChange={setChosen}
      />
      <SelectField
        className="w-full sm:w-64"
        label={t.models.model}
        choices={[{ value: byRoute, label: t.models.default }, ...models.map(({ id }) => ({ value: id, label: id }))]}
        value={model}
        onChange={setModel}
      />
      <Button isBusy={isBusy} onClick={() => void choose()}>
        {t.models.apply}
      </Button>
    </div>
  )
}

const usd = (amount: number) => formatUsd(amount, 4, 0)

/** For a million tokens. The cache price is shown only where it differs. */
export function priceWords({ cost_per_mtok: cost, is_offline }: ListedModel): string {
  if (is_offline) return t.models.free
  if (cost === null) return t.models.unknownCallsCountedWithout
  if (cost.input === 0 && cost.output === 0) return t.models.free
  const cached = cost.cache_read === cost.input ? '' : t.models.cached(usd(cost.cache_read))
  return t.models.outPerMillionTokens(usd(cost.input), usd(cost.output), cached)
}

function ModelCard({ model, isCurrent }: { model: ListedModel; isCurrent: boolean }) {
  return (
    <li className="rounded-xl border border-line bg-raised p-4">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 font-mono text-sm font-semibold">{model.id}</h3>
        {isCurrent && <Badge kind="good">{t.models.inUse}</Badge>}
        {model.is_offline && <Badge>{t.models.offline}</Badge>}
      </div>
      <FieldList
        facts={[
          [t.models.provider, model.provider_type && `${model.provider} (${model.provider_type})`],
          [t.models.apiKey, keyWords(model)],
          [t.models.price, priceWords(model)],
          [t.models.contextWindow, t.models.tokens(formatNumber(model.max_context_tokens))],
          [t.models.maxOutput, t.models.tokens(formatNumber(model.max_tokens))],
          [t.models.vision, model.supports_vision ? t.common.yes : t.common.no],
        ]}
      />
    </li>
  )
}

/** Servers on the machine itself need none. */
function keyWords({ has_key, provider_type }: ListedModel): string | null {
  if (has_key === null || provider_type === 'offline') return null
  return has_key ? t.models.set : provider_type === 'ollama' ? t.models.notNeeded : t.common.none
}

const words: Readonly<Record<string, string>> = {
  primary: t.common.conversations,
  fast: t.models.backgroundTasks,
  builder: t.models.buildingTools,
  vision: t.models.vision,
  compaction: t.models.compaction,
  subagent: t.common.subAgents,
}

function routeWords(name: string): string {
  const source = /^source (.+)$/.exec(name)?.[1]
  if (name === 'image') return t.common.pictures
  return source === undefined ? (words[name] ?? name) : t.models.messagesFrom(source)
}

type Route = ModelsReply['routes'][number]

function RouteRow({ route: { name, models }, children }: { route: Route; children: ReactNode }) {
  return (
    <li className="grid items-center gap-x-4 px-4 py-2 sm:grid-cols-[14rem_1fr]">
      <span className="text-soft">{routeWords(name)}</span>
      <span className="min-w-0">
        {children}
        {models.length > 1 && (
          <span className="block text-sm text-soft">{t.models.fallback(formatList(models.slice(1)))}</span>
        )}
      </span>
    </li>
  )
}

/** The models of each purpose, to be chosen. Fallbacks of the configuration stay. */
function EditableRoutes({ reply, onChanged }: { reply: ModelsReply; onChanged(): void }) {
  const { editor, notice } = useSettings()
  if (!editor) return notice
  const ids = reply.models.map(({ id }) => id)

  function choicesFor(name: string): Choice[] {
    const all = ids.map((id) => ({ value: id, label: id }))
    return name === 'primary' ? all : [{ value: '', label: t.options.sameAsDefault }, ...all]
  }

  async function choose({ name, models }: Route, chosen: string): Promise<void> {
    const fallbacks = models.slice(1).filter((id) => id !== chosen && ids.includes(id))
    await editor?.save(`routes.${name}`, chosen === '' ? null : [chosen, ...fallbacks])
    onChanged()
  }

  return (
    <>
      {notice}
      <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
        {reply.routes.map((route) => {
          const key = `routes.${route.name}`
          const isOwn = route.name === 'primary' || editor.valueOf(key) !== undefined
          const place = editor.overriddenBy(key)
          return (
            <RouteRow key={route.name} route={isOwn ? route : { ...route, models: route.models.slice(0, 1) }}>
              {route.name in words ? (
                <SelectField
                  className="max-w-sm"
                  label={routeWords(route.name)}
                  isLabelHidden
                  hint={place === undefined ? undefined : t.options.setBy(place)}
                  isDisabled={place !== undefined}
                  choices={choicesFor(route.name)}
                  value={isOwn ? (route.models[0] ?? '') : ''}
                  onChange={(chosen) => void choose(route, chosen)}
                />
              ) : (
                <span className="font-mono text-sm">{route.models[0]}</span>
              )}
            </RouteRow>
          )
        })}
      </ul>
    </>
  )
}

function ConnectSection({ onConnected }: { onConnected(): void }) {
  return (
    <Section title={t.setup.connectModel}>
      <Panel>
        <ConnectModel onConnected={onConnected} />
      </Panel>
    </Section>
  )
}

export function ModelsScreen() {
  const { is_owner, may_configure } = useWho()
  const { data, error, refresh } = useAnswer('home.models', {})
  const isOffline = data?.models.every((model) => model.is_offline)
  return (
    <Screen title={t.models.models} intro={t.models.modelsAndRouting}>
      {error && <Failure error={error} onRetry={refresh} />}
      {data && (
        <>
          {isOffline && <ConnectSection onConnected={refresh} />}
          <Section title={t.models.routing}>
            {may_configure && !isOffline ? (
              <EditableRoutes reply={data} onChanged={refresh} />
            ) : (
              <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
                {data.routes.map((route) => (
                  <RouteRow key={route.name} route={route}>
                    <span className="font-mono text-sm">{route.models[0]}</span>
                  </RouteRow>
                ))}
              </ul>
            )}
          </Section>
          <Section
            title={t.models.availableModels}
            actions={<Badge>{t.models.modelsModelsCount(data.models.length)}</Badge>}
          >
            <ul className="grid gap-3 md:grid-cols-2">
              {data.models.map((model) => (
                <ModelCard key={model.id} model={model} isCurrent={model.id === data.current} />
              ))}
            </ul>
          </Section>
          <Section title={t.models.overrideOneConversation}>
            <ChooseModel models={data.models} />
          </Section>
          {is_owner && !isOffline && <ConnectSection onConnected={refresh} />}
        </>
      )}
    </Screen>
  )
}
