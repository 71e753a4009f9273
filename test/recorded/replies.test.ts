import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putOut } from '../security/put-out.ts'
import { askBySecretLink } from '../security/secret-link.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Book, openBook } from './open-book.ts'
import { compare } from './recorder.ts'

/** Routes that this suite leaves to others, each with the reason. */
const elsewhere: Record<string, string> = {
  'GET /api/v1/sessions/:id/media/:hash/text': 'asked in test/e2e/hands.test.ts, with files of tools',
  'GET /api/v1/sessions/:id/messages/:message/mention':
    'asked in test/page/preview.test.ts, with a file of the workspace',
  'GET /api/v1/setup/providers': 'it lists the model servers of this machine: test/security/connect-model.test.ts',
  'POST /api/v1/setup/try': 'test/security/connect-model.test.ts',
  'POST /api/v1/setup/models': 'test/security/connect-model.test.ts',
  'PUT /api/v1/settings/:key': 'test/security/connect-model.test.ts',
  'PUT /api/v1/setup/telegram': 'test/security/connect-model.test.ts',
  'GET /api/v1/page/notices': 'a stream without an end; test/page/notices.test.ts',
  'GET /mcp': 'a stream without an end; test/security/mcp-server.test.ts',
  'DELETE /mcp': 'of an older session; test/security/mcp-server.test.ts',
  'POST /api/v1/local/permissions': 'by "familiar permissions allow" in a chapter',
}

const v1 = '/api/v1'

describe('replies and outputs are as they were recorded', () => {
  let book: Book
  let session = ''
  let main = ''
  beforeAll(async () => {
    book = await openBook()
  })
  afterAll(() => book.close())

  const get = (path: string, options: Parameters<Book['ask']>[2] = {}) => book.ask('GET', `${v1}${path}`, options)
  const post = (path: string, body: unknown = {}, options: Parameters<Book['ask']>[2] = {}) =>
    book.ask('POST', `${v1}${path}`, { body, ...options })
  const put = (path: string, body: unknown, options: Parameters<Book['ask']>[2] = {}) =>
    book.ask('PUT', `${v1}${path}`, { body, ...options })
  const drop = (path: string) => book.ask('DELETE', `${v1}${path}`)
  const patch = (path: string, body: unknown) => book.ask('PATCH', `${v1}${path}`, { body })

  /** One file of replies. */
  function chapter(name: string, tell: () => Promise<void>): void {
    it(`HTTP-1 CLI-2 ${name}`, async () => {
      await tell()
      compare(name, book.take())
    })
  }

  chapter('status', async () => {
    await book.ask('GET', '/healthz', { token: null })
    await book.ask('GET', '/readyz', { token: null })
    await get('/status', { token: null })
    await get('/status')
    await get('/monitor')
    await get('/models')
    await get('/settings', { shape: true })
    await get('/doctor', { shape: true })
    await post('/doctor', { network: false }, { shape: true })
    await post('/doctor', { network: 'yes' })
    await book.ask('POST', `${v1}/reload`)
    await book.ask('GET', '/metrics', { shape: true })
    await get('/nowhere')
    await book.cli('status')
    await book.cli('monitor')
  })

  chapter('chat', async () => {
    const { session_id } = await post('/chat', { message: 'Hello', channel: 'cli' })
    session = session_id
    main = (await post('/chat', { message: 'CALL show {}' })).session_id
    await post('/chat', {
      message: 'Look',
      attachments: [{ name: 'a.txt', media_type: 'text/plain', data: 'aGVsbG8=' }],
    })
    await post('/chat', { message: 'Stream' }, { headers: { accept: 'text/event-stream' } })
    await post('/chat', { message: 'Hello', session: 'main', tier: 'half' })
    await post('/chat', { mesage: 'Hello' })
    await post('/chat?timeout_seconds=0', { message: 'Hello' })
    await post('/chat', { message: 'Hello', client_tools: [{ name: 'a b', description: '', input_schema: {} }] })
    const tool = { name: 'ring_bell', description: 'Rings the bell.', input_schema: { type: 'object' } }
    const asked = await post('/chat', { message: 'CALL ring_bell {"times":2}', client_tools: [tool], session: 'bell' })
    const [call] = asked.tool_calls
    await post(`/sessions/${asked.session_id}/tool-results`, { results: [{ call_id: 'none', result: 'x' }] })
    await post(`/sessions/${asked.session_id}/tool-results`, {
      results: [{ call_id: call?.id, result: { rang: true } }],
    })
    await post(`/sessions/${asked.session_id}/tool-results`, { results: [{ callId: call?.id }] })
    await post('/notify', { message: 'Later', key: 'one' })
    await post('/notify', { message: 'Later', key: 'one' })
    await book.quiet()
    await post('/messages', { message: 'Now' })
    await book.quiet()
    const messages = [
      { role: 'user', content: 'Before' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: [{ type: 'text', text: 'And now?' }] },
    ]
    await book.ask('POST', '/api/chat', { body: { messages }, headers: { accept: 'application/json' } })
    await book.ask('POST', '/api/chat', { body: { message: 'Plain' } })
    await book.cli('send', 'Hello again')
    await book.cli('send', '--no-wait', 'And this')
    await book.quiet()
  })

  chapter('sessions', async () => {
    await get('/sessions')
    await get('/sessions?archived=maybe')
    await get(`/sessions/${main}/history`)
    await get(`/sessions/${main}/history?full=true&limit=3`)
    await get(`/sessions/${main}/context`)
    await get(`/sessions/${main}/trace`)
    await get(`/sessions/${session}/trace?turn=none`)
    await get(`/sessions/${main}/requests?limit=1`)
    await get(`/sessions/${main}/turn-events?limit=4`)
    await get(`/sessions/${main}/spawns`)
    await get(`/sessions/${main}/queue`)
    await drop(`/sessions/${main}/queue/none`)
    await get('/sessions/nowhere/history')
    await post(`/sessions/${main}/stop`)
    await post(`/sessions/${main}/mark`, { name: 'here' })
    await post(`/sessions/${main}/rewind`, { turns: 1 })
    await post(`/sessions/${main}/rewind`, { mark: 'here', turns: 1 })
    await post(`/sessions/${main}/fork`, { contact: 'copy' })
    await post(`/sessions/${main}/compact`)
    const { events } = await get(`/sessions/${main}/history?full=true`, { shape: true })
    const said = events.map(({ data }) => data)
    const message = said.find(({ messageId }) => messageId !== undefined)?.messageId
    await post(`/sessions/${main}/resend`, { message_id: message, message: 'Said differently' })
    await book.quiet()
    await get(`/sessions/${main}/branches`)
    await put(`/sessions/${main}/branch`, { message_id: message })
    await drop(`/sessions/${main}/branches/${message}`)
    await put(`/sessions/${main}/branch`, { message_id: message })
    await put(`/sessions/${main}/pin`, { pinned: true })
    const call = said.find(({ callId }) => callId !== undefined)?.callId
    await get(`/sessions/${main}/cards/${call}`)
    const part = await book.served.familiar.media.put({
      name: 'a.png',
      mediaType: 'image/png',
      data: Buffer.from('a picture'),
    })
    await get(`/sessions/${main}/media/${part.hash}`)
    await get(`/sessions/${main}/media/none`)
    await put(`/sessions/${main}/read`, { seq: 3 })
    await put(`/sessions/${main}/title`, { title: 'Trains' })
    await get('/page/sessions')
    await post('/page/card', {
      title: 'A',
      html: '<p>x</p>',
      text: 'x',
      accentColor: null,
      backgroundColor: null,
      icon: null,
    })
    await post('/page/card', { title: 'A', accent_color: 'red' })
    await streamStart(book, `${v1}/sessions/${main}/events`)
    await book.cli('sessions', '--all')
    await book.cli('history', session)
    await book.cli('history', session, '--full')
    await book.cli('context', session)
    await book.cli('log', '-s', session)
    await book.cli('history', 'nowhere')
    await post('/sessions/reset', { target: 'copy' })
    await post('/sessions/reset', { target: '' })
    await book.cli('reset', 'bell', '-y')
  })

  chapter('approvals', async () => {
    await post('/chat', { message: 'CALL read_page {}', session: 'garden' })
    const { approvals } = await get('/approvals')
    const [first] = approvals
    await post(`/approvals/${first?.id}`, { answer: 'perhaps' })
    await book.cli('approvals', 'list')
    await post(`/approvals/${first?.id}`, { answer: 'deny' })
    await post(`/approvals/${first?.id}`, { answer: 'approve' })
    await post('/approvals/none', { answer: 'deny' })
    await book.quiet()
    await post('/chat', { message: 'CALL read_page {}', session: 'orchard' })
    const [second] = (await get('/approvals')).approvals
    await book.cli('approvals', 'approve', second?.id ?? '')
    await book.quiet()
    await get('/permissions')
    await post('/permissions', { tool: 'send', destination: 'nothing here' })
    const { id } = await post('/permissions', { tool: 'send', destination: 'letters.example', session: 'orchard' })
    await book.cli('permissions', 'allow', 'erase_disk', 'exec:host', '--effect', 'host')
    await book.cli('permissions', 'list')
    await drop(`/permissions/${id}`)
    await drop(`/permissions/${id}`)
    await get('/sessions/orchard/permissions')
    await put('/sessions/orchard/permissions', { mode: 'strict' })
    await book.cli('permissions', 'mode', 'default', '--session', 'orchard')
  })

  chapter('cost', async () => {
    await get('/cost?period=all')
    await get('/cost?period=never')
    await get('/cost/spending')
    await get('/cost/caps')
    await book.cli('cost', '--period', 'all')
  })

  chapter('schedules', async () => {
    await post('/schedules/preview', { every: '2h' })
    await post('/schedules/preview', { at: 'tomorrow at 9:00', time_zone: 'Europe/Malta' })
    await post('/schedules/preview', { at: 'tomorrow', cron: '* * * * *' })
    const once = await post('/schedules', { at: 'tomorrow at 9:00', message: 'Water the roses' })
    await post('/schedules', {
      cron: '0 7 * * *',
      message: 'Good morning',
      name: 'morning',
      time_zone: 'Europe/Malta',
      catch_up: 'none',
      session: 'family',
    })
    await post('/schedules', { at: 'tomorrow', message: 'x', timeZone: 'UTC' })
    await post('/schedules', { at: 'tomorrow', message: 'x', time_zone: 7, catch_up: 'some' })
    await post('/schedules', { at: 'whenever', message: 'x' })
    await post('/schedules', { message: '' })
    const beat = await post('/schedules/heartbeat', { every: '30m', time_zone: 'UTC' })
    await post('/schedules/heartbeat', { every: 'often' })
    await get('/schedules')
    await get('/schedules?all=perhaps')
    await post(`/schedules/${once.id}/run`)
    await book.quiet()
    await get(`/schedules/${once.id}`)
    await drop(`/schedules/${beat.id}`)
    await get('/schedules?all=true')
    await get('/schedules/none')
    await drop('/schedules/none')
    await post('/schedules/none/run')
    await book.cli('schedule', 'add', 'Feed the cat', '--at', 'tomorrow at 18:00', '--name', 'cat')
    await book.cli('schedule', 'add', 'Feed the cat', '--cron', 'never')
    await book.cli('schedule', 'heartbeat', '--every', '1h')
    await book.cli('schedule', 'list', '--all')
    await book.cli('schedule', 'show', 'cat')
    await book.cli('schedule', 'run', 'cat')
    await book.quiet()
    await book.cli('schedule', 'cancel', 'cat')
    await book.cli('schedule', 'show', 'dog')
  })

  chapter('memory', async () => {
    const { memory } = await post('/memories', { content: 'The key is under the mat', title: 'Key', tags: ['home'] })
    const note = memory.id
    const other = (await post('/memories', { content: 'The mat is green' })).memory.id
    await post('/memories', { content: ' ', tier: 'forever' })
    await post('/memories', { content: 'x', isNew: true })
    await get('/memories?limit=1')
    await get('/memories?from=2026-11-15&until=2026-11-15&passages=false')
    await get('/memories?kind=dream')
    await get('/memories/search?q=key&explain=true')
    await get('/memories/search')
    await post('/memories/deep', { question: 'Where is the key?' })
    await post('/memories/deep', { question: 'Where?', style: 'rhyme' })
    await get(`/memories/${note}`)
    await get('/memories/none')
    await patch(`/memories/${note}`, { title: 'The key', priority: 0.5 })
    await patch(`/memories/${note}`, {})
    await post(`/memories/${other}/keep`)
    await book.ask('POST', `${v1}/memories/facts`, { body: { entity: 'Anna', attribute: 'city', value: 'Gozo' } })
    await post('/memories/facts', { entity: 'Anna', attribute: 'city', value: 'Malta' })
    await post('/memories/facts', { entity: 'Anna' })
    await get('/memories/facts?entity=Anna&history=true&count=true')
    await post('/memories/attributes', { attribute: 'language', is_multi_valued: true })
    await post('/memories/attributes', { attribute: 'language', isMultiValued: true })
    const { commitment } = await post('/memories/commitments', {
      what: 'Call Ben',
      to_whom: 'Ben',
      deadline: '2026-12-01',
    })
    const promise = commitment.id
    await post('/memories/commitments', { what: 'Call Ben', to_whom: '', deadline: 'soon' })
    await get('/memories/commitments?state=open&to_whom=Ben')
    await patch(`/memories/commitments/${promise}`, { state: 'done' })
    await patch('/memories/commitments/none', { state: 'done' })
    await get(`/memories/${promise}`)
    await post('/memories/aliases', { alias: 'Annie', entity: 'Anna' })
    await get('/memories/aliases')
    await drop('/memories/aliases?alias=Annie&entity=Anna')
    await drop('/memories/aliases?alias=Annie&entity=Anna')
    await post('/memories/edges', { source_id: note, target_id: other, relation: 'near' })
    await post('/memories/edges', { source_id: note, target_id: note, relation: 'near' })
    await get(`/memories/graph?ids=${note}`)
    await get('/memories/graph')
    await drop(`/memories/edges?source_id=${note}&target_id=${other}&relation=near`)
    await drop(`/memories/edges?source_id=${note}&target_id=${other}`)
    await drop(`/memories/${other}`)
    await drop('/memories/none')
    await get('/memories/changes')
    await post('/memories/undo')
    await post('/memories/undo', { change: 'none' })
    book.write('garden.md', '# Garden\n\nThe roses need water.\n')
    await post('/memories/roots', { path: book.folder }, { local: true })
    await post('/memories/roots', { path: '/nowhere/at/all' }, { local: true })
    await post('/memories/sync')
    await post('/memories/sync', {}, { headers: { accept: 'text/event-stream' } })
    await get('/memories/roots')
    await get('/memories/search?q=roses')
    await drop(`/memories/roots?path=${encodeURIComponent(book.folder)}`)
    await drop('/memories/roots?path=none')
    await post('/memories/consolidate', { session: 'main' })
    await post('/memories/consolidate', { session: 'nowhere' })
    await get('/memories/export')
    await get('/memories/export?format=markdown')
    const lines = { headers: { 'content-type': 'text/markdown' } }
    await book.ask('POST', `${v1}/memories/import`, { body: '- A note from elsewhere\n', ...lines })
    await get('/memories/stats')
    await book.cli('memory', 'add', 'The', 'gate', 'is', 'shut', '--title', 'Gate')
    await book.cli('memory', 'add', 'Anna', 'age', '41', '--fact')
    await book.cli('memory', 'add', 'Paint the gate', '--commitment', '--by', '2026-12-24')
    await book.cli('memory', 'add', 'Nan', 'Anna', '--alias')
    await book.cli('memory', 'list', '-n', '2')
    await book.cli('memory', 'list', '-k', 'fact', '--entity', 'Anna')
    await book.cli('memory', 'list', '-k', 'commitment')
    await book.cli('memory', 'search', 'gate', '--explain')
    await book.cli('memory', 'search', 'gate', '--deep')
    await book.cli('memory', 'show', note)
    await book.cli('memory', 'edit', note, '--title', 'Our key')
    await book.cli('memory', 'done', promise, '--reopen')
    await book.cli('memory', 'graph', note)
    await book.cli('memory', 'index', '--list')
    await book.cli('memory', 'index', book.folder)
    await book.cli('memory', 'index', '--remove', book.folder)
    await book.cli('memory', 'consolidate', '-s', 'main')
    await book.cli('memory', 'forget', note, '-y')
    await book.cli('memory', 'undo', '--list')
    await book.cli('memory', 'undo')
    await book.cli('memory', 'export', `${book.folder}/memories.jsonl`)
    await book.cli('memory', 'import', `${book.folder}/memories.jsonl`)
    await book.cli('memory', 'stats')
    await post('/memories/forget-everything', { about: 'Gozo', confirm: false })
    await post('/memories/forget-everything', { about: 'Gozo', confirm: true })
  })

  chapter('files', async () => {
    const notes = '/blocks/notes%2Ftrip.md'
    await put(notes, { content: 'To Gozo.\n', etag: null })
    await put(notes, { content: 'To Gozo.\n', etag: null })
    await put(notes, { contents: 'x' })
    await get(notes)
    await get('/blocks/none')
    await get(`${notes}?offset=0`)
    await post(`${notes}/edit`, { old: 'Gozo', new: 'Comino' })
    await post(`${notes}/edit`, { old: 'Gozo', new: 'Malta' })
    await post(`${notes}/undo`)
    await get(`${notes}/history`)
    await get(`${notes}/versions/2`)
    await get(`${notes}/versions/9`)
    await get('/blocks?prefix=notes')
    await post('/pins', { label: 'notes/trip.md' })
    await post('/pins', { label: 'none' })
    await get('/pins')
    await drop('/pins?label=notes%2Ftrip.md')
    await drop('/pins')
    await drop(notes)
    const local = { local: true } as const
    await post('/local/files/write', { path: 'diary.md', content: 'One.\nTwo.\n' }, local)
    await post('/local/files/read', { path: 'diary.md', limit: 1 }, local)
    await post('/local/files/read', { path: 'none.md' }, local)
    await post('/local/files/read', { path: 'diary.md' })
    await post('/local/files/edit', { path: 'diary.md', old: 'Two', new: 'Three' }, local)
    await post('/local/files/list', { path: '' }, local)
    await post('/local/files/history', { path: 'diary.md' }, local)
    await post('/local/files/undo', { path: 'diary.md' }, local)
    await book.cli('file', 'write', 'plan.md', '--content', 'A plan.')
    await book.cli('file', 'read', 'plan.md')
    await book.cli('file', 'edit', 'plan.md', '--old', 'plan', '--new', 'way')
    await book.cli('file', 'list')
    await book.cli('file', 'history', 'plan.md')
    await book.cli('file', 'undo', 'plan.md')
    await book.cli('file', 'read', 'none.md')
  })

  chapter('tools', async () => {
    await get('/tools')
    await get('/tools/mail')
    await get('/tools/none')
    await get('/tools/mail/config')
    await put('/tools/mail/config', { api_key: 'k-1', folder: 'Sent' })
    await put('/tools/mail/config', { colour: 'red' })
    await book.ask('DELETE', `${v1}/tools/mail/config/folder`)
    await post('/tools/mail/test')
    await post('/tools/mail/tests')
    await post('/tools/mail/run', { params: { maxItems: 3 }, telemetry: { city: 'Valletta' } })
    await post('/tools/mail/run', { parameters: {} })
    await post('/tools/mail/run', { telemetry: { lat: 100, timeZone: 'UTC' } })
    await get('/tools/mail/calls')
    await get('/tools/mail/calls?limit=0')
    await post('/tools/mail/disable')
    await post('/tools/mail/enable')
    await post('/tools/mail/reload')
    await book.ask('GET', '/tools')
    await book.ask('GET', '/tools/mail/config')
    await book.ask('PUT', '/tools/mail/config', { body: { folder: 'All' } })
    await book.ask('DELETE', '/tools/mail/config/folder')
    await book.ask('POST', '/tools/mail/test', { body: {} })
    await book.hook('/hooks/ring')
    await book.hook('/api/v1/hooks/ring')
    await book.ask('POST', '/hooks/ring', { token: null, body: {} })
    await waitFor(async () => {
      const rows = await book.served.familiar.database.read.selectFrom('trigger_runs').selectAll().execute()
      expect(rows.filter(({ state }) => state === 'done')).toHaveLength(2)
    })
    await book.quiet()
    await get('/tools/ring/runs')
    await get('/runs?limit=1')
    await post('/tools/ring/hook')
    await post('/tools/none/hook')
    await put('/telemetry', { locale: 'en-MT', lat: 35.9, lon: 14.5, place_consent: true })
    await put('/telemetry', { placeConsent: true })
    await get('/mcp')
    await post('/mcp/refresh')
    await get('/skills')
    await get('/skills/baking')
    await get('/skills/none')
    await post('/skills/baking/disable')
    await post('/local/skills/baking/enable', {}, { local: true })
    await post('/skills/reload')
    await book.cli('tools', 'list')
    await book.cli('tools', 'show', 'mail')
    await book.cli('tools', 'config', 'mail')
    await book.cli('tools', 'config', 'mail', 'folder=Inbox')
    await book.cli('tools', 'run', 'mail')
    await book.cli('tools', 'disable', 'mail')
    await book.cli('tools', 'enable', 'mail')
    await book.cli('tools', 'logs', 'mail')
    await book.cli('tools', 'show', 'none')
    await book.cli('skills', 'list')
    await book.cli('skills', 'show', 'baking')
    await book.cli('mcp', 'list')
  })

  chapter('capabilities', async () => {
    const { served, folder } = book
    const { userId } = served.familiar
    for (const [path, text] of Object.entries(greeterFiles())) book.write(`greeter/${path}`, text)
    const better = greeterFiles({
      'main.py': 'def run(args):\n    return "Hello, " + args["name"] + "!"  # kindly\n',
    })
    for (const [path, text] of Object.entries(better)) book.write(`better/${path}`, text)
    const farewell = greeterFiles({ 'manifest.json': greeterManifest({ name: 'farewell', hosts: ['example.com'] }) })
    for (const [path, text] of Object.entries(farewell)) book.write(`farewell/${path}`, text)
    const local = { local: true } as const
    await post('/local/capabilities/register', { directory: `${folder}/greeter` }, local)
    await post('/local/capabilities/register', { directory: `${folder}/better` }, local)
    await post('/local/capabilities/register', { directory: 'greeter' }, local)
    await post('/local/capabilities/import', { directory: `${folder}/farewell` }, local)
    await post('/capabilities/farewell/enable')
    await post('/local/capabilities/farewell/approve', { version: 2 }, local)
    await post('/local/capabilities/farewell/approve', { version: 1 }, local)
    await post('/local/capabilities/greeter/export', { directory: `${folder}/out` }, local)
    await get('/capabilities')
    await get('/capabilities?query=greets')
    await get('/capabilities?state=asleep')
    await get('/capabilities/greeter')
    await get('/capabilities/none')
    await get('/capabilities/proposals')
    await get('/capabilities/greeter/files')
    await get('/capabilities/greeter/files?version=9')
    await get('/capabilities/greeter/diff')
    await post('/capabilities/greeter/run', { args: { name: 'Ada' } })
    await post('/capabilities/greeter/run', { args: { name: 'Ada' }, isDry: true })
    await get('/capabilities/greeter/calls')
    await post('/capabilities/greeter/disable')
    await post('/capabilities/greeter/enable')
    await post('/capabilities/greeter/rollback')
    await post('/capabilities/greeter/rollback', { version: 'one' })
    await put('/capabilities/greeter/secrets/KEY', { value: 'x' })
    const repair = await post('/capabilities/greeter/repair', { problem: 'It is too polite' })
    await get('/builds')
    await get('/builds?state=asleep')
    await get(`/builds/${repair.id}`)
    await get('/builds/none')
    const build = await served.capabilities.requestBuild(userId, 'weather')
    const signal = new AbortController().signal
    const seen = { untrusted: false, private: false }
    const answer = served.capabilities.desk.ask({ build, callId: 'call-2', question: 'Which city?', seen, signal })
    await waitFor(async () => expect(await served.capabilities.desk.questions(userId)).toHaveLength(1))
    const [question] = (await get('/builds/questions')).questions
    await book.cli('approvals', 'list')
    await post(`/builds/questions/${question?.id}`, { text: 'Valletta' })
    await post(`/builds/questions/${question?.id}`, { answer: 'Valletta' })
    await answer
    await post('/builds/questions/none', { answer: 'Valletta' })
    const link = await askBySecretLink(served, { name: 'postman' })
    await post(`/builds/questions/${link.questionId}/secret`, { value: 'k-2' })
    await link.isSet
    const second = await askBySecretLink(served, { name: 'painter' })
    await book.ask('GET', second.path, { token: null })
    const form = { token: null, body: 'value=k-3', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    await book.ask('POST', second.path, form)
    await book.ask('GET', second.path, { token: null })
    await second.isSet
    await post(`/builds/${build.id}/stop`)
    await book.ask('GET', `${v1}/builds/${build.id}/events`)
    await book.ask('GET', `/api/builder/status?buildId=${build.id}`)
    await book.ask('GET', `/api/builder/status?build_id=${build.id}`)
    await book.cli('caps', 'list')
    await book.cli('caps', 'show', 'greeter')
    await book.cli('caps', 'run', 'greeter', '--args', '{"name":"Ada"}')
    await book.cli('caps', 'diff', 'greeter', '1', '2')
    await book.cli('caps', 'logs', 'greeter')
    await book.cli('caps', 'builds')
    await book.cli('caps', 'disable', 'greeter')
    await book.cli('caps', 'enable', 'greeter')
    await book.cli('caps', 'rollback', 'greeter', '2')
    await book.cli('caps', 'review')
    await book.cli('caps', 'export', 'greeter', `${folder}/again`)
    await book.cli('caps', 'show', 'none')
  })

  chapter('users', async () => {
    const local = { local: true } as const
    await get('/users')
    await post('/local/users', { name: 'Ben' }, local)
    await post('/local/users', { name: 'Ben' }, local)
    await post('/local/users', { name: '', scope: 'all' }, local)
    await post('/local/users', { name: 'Eve' })
    await get('/local/users', local)
    await put('/local/users/Ben/tier', { tier: 'none' }, local)
    await put('/local/users/Ben/tier', { tier: 'full' }, local)
    await post('/local/users/Ben/rotate', {}, local)
    await post('/local/users/Eve/rotate', {}, local)
    const made = await post('/local/tokens', { user: 'Ben', scope: 'read' }, local)
    await get('/local/tokens?user=Ben', local)
    await post(`/local/tokens/${made.id}/revoke`, {}, local)
    await post('/local/tokens/none/revoke', {}, local)
    await get('/who')
    await get('/browsers')
    await post('/sign-out')
    const { url } = await post('/local/sign-in-link', {}, local)
    await post('/sign-in', { code: 'none' }, { token: null })
    const code = /[A-Za-z0-9_-]{43}/.exec(url)?.[0]
    await post('/sign-in', { code }, { token: null, headers: { 'user-agent': 'Browser of the test' } })
    await get('/browsers')
    await post('/sign-out', { everywhere: true })
    await post('/local/users/Ben/remove', { directory: 'relative' }, local)
    await post('/local/users/Ben/remove', { directory: `${book.folder}/of-ben` }, local)
    await book.cli('users', 'add', 'Cleo')
    await book.cli('users', 'list')
    await book.cli('users', 'rotate', 'Cleo')
    await book.cli('token', 'create', '--user', 'Cleo', '--scope', 'read')
    await book.cli('token', 'list', '--user', 'Cleo')
    await book.cli('users', 'remove', 'Cleo', '--out', `${book.folder}/of-cleo`, '-y')
    await book.cli('sign-in')
  })

  chapter('channels', async () => {
    const first = await putOut(book.served, 'Hello there')
    await get('/outbox?state=pending')
    await get('/outbox?state=lost')
    await get(`/outbox/${first}`)
    await get('/outbox/none')
    await post(`/outbox/${first}/cancel`)
    await post(`/outbox/${first}/retry`)
    const second = await putOut(book.served, 'Hello again')
    await book.cli('outbox', 'list')
    await book.cli('outbox', 'show', second)
    await book.cli('outbox', 'cancel', second)
    const local = { local: true } as const
    await get('/local/telegram', local)
    await get('/local/telegram/contacts', local)
    await post('/local/telegram/codes', {}, local)
    await post('/local/telegram/codes', { user: 'Nobody' }, local)
    await book.ask('DELETE', `${v1}/local/telegram/contacts/7`, local)
    await book.cli('telegram', 'status')
    await book.cli('telegram', 'contacts')
    await book.cli('telegram', 'pair')
    await get('/voice')
    await post('/voice/speak', { text: 'Hello' })
    await post('/voice/speak', { text: '' })
    await post('/voice/warm')
    await book.ask('POST', `${v1}/voice/transcribe`, { body: 'RIFF', headers: { 'content-type': 'audio/wav' } })
    await book.cli('voice', 'status')
  })

  chapter('openai', async () => {
    const messages = [{ role: 'user', content: 'Hello' }]
    await book.ask('GET', '/v1/models')
    await book.ask('GET', '/v1/models/familiar')
    await book.ask('GET', '/v1/models/none')
    await book.ask('POST', '/v1/chat/completions', { body: { model: 'familiar', messages } })
    await book.ask('POST', '/v1/chat/completions', { body: { model: 'familiar' } })
    await book.ask('POST', '/v1/completions', { body: { model: 'familiar', prompt: 'Hello' } })
    await book.ask('POST', '/v1/embeddings', { body: { model: 'familiar', input: 'Hello' } })
    const { id } = await book.ask('POST', '/v1/responses', { body: { model: 'familiar', input: 'Hello' } })
    await book.ask('GET', `/v1/responses/${id}`)
    await book.ask('DELETE', `/v1/responses/${id}`)
    await book.ask('GET', '/v1/responses/none')
    await book.ask('POST', '/v1/audio/speech', { body: { model: 'tts-1', input: 'Hello', voice: 'alloy' } })
    const form = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--x--\r\n'
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    await book.ask('POST', '/v1/audio/transcriptions', { body: form, headers })
    await book.ask('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: { accept: 'application/json, text/event-stream' },
    })
  })

  // After the others: what it changes is in none of their replies.
  chapter('organize', async () => {
    const { session_id: id } = await post('/chat', { message: 'My passport expires in March', session: 'papers' })
    await get('/search?q=passport%20march&kinds=message,conversation')
    await get('/search?q=passp&typing=true&kinds=message&limit=1')
    await get('/search?q=')
    await get('/search?q=x&kinds=secret')
    await get('/search/files/none')
    const folder = await post('/folders', { name: 'Papers' })
    await post('/folders', { name: 'Papers' })
    await post('/folders', { name: '' })
    await put(`/folders/${folder.id}`, { name: 'Documents' })
    await put('/sessions/folder', { sessions: ['papers'], folder: folder.id })
    await put('/sessions/folder', { sessions: ['papers'], folder: 'none' })
    await get('/folders')
    await get('/sessions/export?sessions=papers&format=json')
    await get('/sessions/export?sessions=papers&format=pdf')
    await post('/sessions/archive', { sessions: [id] })
    await post('/sessions/unarchive', { sessions: [id] })
    await post('/sessions/delete', { sessions: ['papers'] })
    await get('/sessions/deleted')
    await post('/sessions/restore', { sessions: [id] })
    await post('/sessions/restore', { sessions: [id] })
    await drop(`/folders/${folder.id}`)
    await drop(`/folders/${folder.id}`)
    await book.cli('search', 'passport', '--kind', 'message')
    await book.cli('folders')
    await book.cli('sessions', 'deleted')
  })

  it('HTTP-1 the description of the API', async () => {
    await get('/openapi.json', { shape: true })
    const { json } = await book.served.call({ path: `${v1}/openapi.json` })
    const { paths, components, ...rest } = json as unknown as Described & { components: object }
    const byName = (parts: object) => Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1))
    compare('openapi', [rest, ...byName(paths), ...byName(components.schemas)])
    book.take()
  })

  it('HTTP-2 the replies of each route without a token, with an unknown key and with a wrong value', async () => {
    const described = (await book.served.call({ path: `${v1}/openapi.json` })).json as unknown as Described
    const kept: [route: string, ...replies: string[]][] = []
    for (const route of book.served.routes.filter(({ path }) => path !== '/mcp')) {
      const path = route.path.replaceAll(/:\w+/g, 'none')
      const call = { method: route.method, path, ...(route.isLocal && { token: book.served.localToken }) }
      const replies = [await book.served.call({ ...call, token: null, ...(route.body && { body: {} }) })]
      replies.push(await book.served.call({ ...call, path: `${path}?surprise=1`, ...(route.body && { body: {} }) }))
      for (const name of described.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]
        ?.parameters ?? []) {
        if (name.in === 'query') replies.push(await book.served.call({ ...call, path: `${path}?${name.name}=` }))
      }
      if (route.body) {
        replies.push(await book.served.call({ ...call, body: { surprise: true, anotherOne: 1 } }))
        replies.push(await book.served.call({ ...call, body: [] }))
        for (const key of keysOf(described, route))
          replies.push(await book.served.call({ ...call, body: { [key]: [[]] } }))
      }
      const told = replies.map(({ status, text, headers }) =>
        headers['content-type']?.startsWith('application/json') ? `${status} ${book.plain(text)}` : String(status),
      )
      kept.push([`${route.method} ${route.path}`, ...told])
    }
    compare('refusals', kept)
  })

  it('HTTP-1 every route of the table was asked, or is left out for a reason', () => {
    const missing = book.served.routes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !book.asked.has(route) && !(route in elsewhere))
    expect(missing).toEqual([])
  })
})

interface Described {
  paths: Record<
    string,
    Record<string, { parameters: { name: string; in: string }[]; requestBody?: { content: unknown } }>
  >
  components: { schemas: Record<string, { properties?: Record<string, unknown> }> }
}

/** The keys that the description names for the body of a route. */
function keysOf({ paths, components }: Described, { method, path }: { method: string; path: string }): string[] {
  const operation = paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
  const name = /schemas\/(\w+)"/.exec(JSON.stringify(operation?.requestBody ?? {}))?.[1] ?? ''
  return Object.keys(components.schemas[name]?.properties ?? {})
}

/** The first events of a stream that has no end. */
async function streamStart(book: Book, path: string): Promise<void> {
  const { request, response } = await book.served.open({ path, headers: { accept: 'text/event-stream' } })
  let text = ''
  for await (const chunk of response) {
    text += String(chunk)
    if (text.split('\n\n').length > 4) break
  }
  request.destroy()
  book.keep('GET', path, { status: response.statusCode, text: text.split('\n\n').slice(0, 4).join('\n\n') })
}
