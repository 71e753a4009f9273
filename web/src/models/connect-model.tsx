import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import type { ProviderOffer } from '../../../src/protocol/setup.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { Badge, Button, CommandLine, classes } from '../components/controls.tsx'
import { Failure, Notice, useToasts } from '../components/feedback.tsx'
import { SelectField, TextField } from '../components/forms.tsx'
import { Fold } from '../components/layout.tsx'
import { useWho } from '../shell/account.tsx'
import { t } from '../strings/strings.ts'
import { refreshConnection } from './connection.ts'

function ProviderChoice(props: {
  offers: readonly ProviderOffer[]
  value: string | undefined
  onChange(id: string): void
}) {
  const { offers, value, onChange } = props
  const name = useId()
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{t.setup.provider}</legend>
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        {offers.map(({ id, label, is_found }) => (
          <label
            key={id}
            className={classes(
              'flex min-h-11 cursor-pointer items-center justify-between gap-2 rounded-lg border px-3 py-2 text-sm font-medium has-focus-visible:outline-2 has-focus-visible:outline-accent',
              id === value ? 'border-accent bg-accent-soft' : 'border-line bg-raised hover:bg-sunken',
            )}
          >
            <input
              type="radio"
              name={name}
              className="sr-only"
              value={id}
              checked={id === value}
              onChange={() => onChange(id)}
            />
            {label}
            {is_found && <Badge kind="good">{t.setup.found}</Badge>}
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** The host of an address that the owner has to confirm; undefined for the provider's own. */
function foreignHost({ base_url, takes_address }: ProviderOffer, address: string): string | undefined {
  if (!takes_address || address === (base_url ?? '') || !URL.canParse(address)) return undefined
  return new URL(address).host
}

type Tried = Reply<'setup.tryProvider'>

/** Key, test, model, save: for one provider. */
function ConnectProvider({ offer, onConnected }: { offer: ProviderOffer; onConnected(): void }) {
  const toasts = useToasts()
  const [key, setKey] = useState('')
  const [address, setAddress] = useState(offer.base_url ?? '')
  const [isTrusted, setIsTrusted] = useState(false)
  const [tried, setTried] = useState<Tried>()
  const [model, setModel] = useState('')
  const [prices, setPrices] = useState({ input: '', output: '' })
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState<'test' | 'save'>()
  const modelField = useRef<HTMLDivElement>(null)
  const host = foreignHost(offer, address.trim())

  // The next step: by keyboard the focus is there already.
  useEffect(() => {
    if (!tried?.ok) return
    modelField.current?.querySelector<HTMLElement>('select, input')?.focus()
    // The button below is in view as well.
    modelField.current?.closest('form')?.scrollIntoView({ block: 'end' })
  }, [tried])

  function described() {
    return {
      provider: offer.id,
      ...(offer.takes_address && { base_url: address.trim() }),
      ...(key.trim() !== '' && { api_key: key.trim() }),
      ...(host !== undefined && isTrusted && { confirmed_host: host }),
    }
  }

  function change(apply: () => void): void {
    apply()
    setTried(undefined)
    setProblem(undefined)
  }

  async function test(): Promise<void> {
    setBusy('test')
    try {
      const reply = await call('setup.tryProvider', described())
      setTried(reply)
      setModel(reply.suggested ?? '')
      setProblem(reply.problem ?? undefined)
    } catch (error) {
      setTried(undefined)
      setProblem(error instanceof Error ? error.message : String(error))
    } finally {
      setBusy(undefined)
    }
  }

  async function save(isUntested: boolean): Promise<void> {
    setBusy('save')
    setProblem(undefined)
    try {
      const [input, output] = [prices.input, prices.output].map(Number)
      const hasPrices = prices.input.trim() !== '' && prices.output.trim() !== ''
      const reply = await call('setup.connect', {
        ...described(),
        model: model.trim(),
        is_untested: isUntested,
        ...(hasPrices && { prices: { input: input ?? 0, output: output ?? 0 } }),
      })
      if (!reply.ok) return setProblem(t.setup.notAnswering(reply.problem ?? ''))
      const isUsed = reply.current === reply.model
      toasts.done(isUsed ? t.setup.answersNow(reply.current) : t.setup.overridden(reply.current))
      setKey('')
      await refreshConnection()
      onConnected()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    } finally {
      setBusy(undefined)
    }
  }

  function submit(event: FormEvent): void {
    event.preventDefault()
    void (tried?.ok ? save(false) : test())
  }

  const needsKey = offer.key === 'needed' && !offer.has_key && key.trim() === ''
  const isComplete = !needsKey && (!offer.takes_address || address.trim() !== '') && (host === undefined || isTrusted)
  return (
    <form className="mt-4 scroll-mb-6 space-y-3" onSubmit={submit}>
      {offer.takes_address && (
        <TextField
          label={t.setup.address}
          type="url"
          autoComplete="off"
          spellCheck={false}
          hint={offer.key === 'optional' ? t.setup.addressHint : undefined}
          value={address}
          onChange={(event) => change(() => setAddress(event.target.value))}
        />
      )}
      {offer.key !== 'none' && (
        <TextField
          label={offer.key === 'optional' ? `${t.setup.apiKey} (${t.setup.optional})` : t.setup.apiKey}
          type="password"
          autoComplete="off"
          spellCheck={false}
          hint={
            <>
              {offer.has_key ? t.setup.keyStored : t.setup.keyHint}{' '}
              {offer.key_page && (
                <a
                  href={offer.key_page}
                  target="_blank"
                  rel="noopener noreferrer"
                  className="text-accent underline underline-offset-2"
                >
                  {t.setup.getKey} ({new URL(offer.key_page).host})
                </a>
              )}
            </>
          }
          value={key}
          onChange={(event) => change(() => setKey(event.target.value))}
        />
      )}
      {host !== undefined && (
        <label className="flex min-h-9 items-start gap-2 text-sm">
          <input
            type="checkbox"
            className="mt-1"
            checked={isTrusted}
            onChange={(event) => change(() => setIsTrusted(event.target.checked))}
          />
          {t.setup.trustHost(host)}
        </label>
      )}
      {tried?.ok && (
        <div ref={modelField} className="space-y-3">
          <p role="status" className="text-sm text-soft">
            {tried.models.length === 0 ? t.setup.noModelsListed : t.setup.connected(tried.models.length)}
          </p>
          {tried.models.length > 0 ? (
            <SelectField
              label={t.setup.model}
              choices={tried.models.map((value) => ({ value, label: value }))}
              value={model}
              onChange={setModel}
            />
          ) : (
            <TextField label={t.setup.model} value={model} onChange={(event) => setModel(event.target.value)} />
          )}
          {offer.key !== 'none' && (
            <Fold icon="coin" title={t.setup.price} detail={t.setup.optional}>
              <p className="mb-2 text-sm text-soft">{t.setup.priceHint}</p>
              <div className="grid grid-cols-2 gap-3">
                {(['input', 'output'] as const).map((kind) => (
                  <TextField
                    key={kind}
                    label={kind === 'input' ? t.setup.inputPrice : t.setup.outputPrice}
                    type="number"
                    min={0}
                    step="any"
                    value={prices[kind]}
                    onChange={(event) => setPrices({ ...prices, [kind]: event.target.value })}
                  />
                ))}
              </div>
            </Fold>
          )}
        </div>
      )}
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <div className="flex flex-wrap gap-2">
        {!tried?.ok && (
          <Button type="submit" kind="main" isBusy={busy === 'test'} disabled={!isComplete || busy !== undefined}>
            {busy === 'test' ? t.setup.testing : t.setup.test}
          </Button>
        )}
        {tried?.ok && (
          <Button type="submit" kind="main" isBusy={busy === 'save'} disabled={model.trim() === ''}>
            {t.setup.save}
          </Button>
        )}
        {tried?.ok && problem !== undefined && (
          <Button disabled={busy !== undefined} onClick={() => void save(true)}>
            {t.setup.saveAnyway}
          </Button>
        )}
      </div>
    </form>
  )
}

/** Connects a model, for the owner in a browser on the machine itself; others are shown how. */
export function ConnectModel({ onConnected = () => undefined }: { onConnected?: () => void }) {
  const { is_owner, may_configure } = useWho()
  const { data, error, refresh } = useAnswer('setup.offers', may_configure ? {} : null)
  const [chosen, setChosen] = useState<string>()
  if (!is_owner) return <p className="text-soft">{t.setup.askOwner}</p>
  if (!may_configure) {
    return (
      <>
        <p className="mb-2 text-soft">{t.setup.onMachineOnly}</p>
        <CommandLine command="familiar setup" />
      </>
    )
  }
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  const value = chosen ?? data.providers.find(({ is_found }) => is_found)?.id
  const offer = data.providers.find(({ id }) => id === value)
  return (
    <>
      <ProviderChoice offers={data.providers} value={value} onChange={setChosen} />
      {offer && (
        <ConnectProvider
          key={offer.id}
          offer={offer}
          onConnected={() => {
            refresh()
            onConnected()
          }}
        />
      )}
    </>
  )
}
