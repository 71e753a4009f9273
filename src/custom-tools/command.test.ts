import { describe, expect, it } from 'vitest'
import { type CommandPlan, foldersOf, planCommand } from './command.ts'
import type { ToolFolder } from './tool-folder.ts'

function folderOf(files: Record<string, string>): ToolFolder {
  const entries = Object.entries(files).map(([path, text]) => ({
    path,
    bytes: new TextEncoder().encode(text),
    isExecutable: false,
  }))
  return {
    name: 'weather',
    directory: '/home/max/tools/weather',
    files: entries,
    codeHash: '',
    hash: 'hash',
    isShared: null,
  }
}

function plan(files: Record<string, string>): CommandPlan {
  const planning = planCommand(folderOf(files))
  if (!planning.ok) throw new Error(planning.problem)
  return planning.plan
}

function problem(files: Record<string, string>): string {
  const planning = planCommand(folderOf(files))
  return planning.ok ? (planning.plan.here.problem ?? 'none') : planning.problem
}

const dockerfile = (...lines: string[]) => lines.join('\n')

describe('the command of a tool', () => {
  it.each([
    ['runner.py', ['python3', '-u', 'runner.py']],
    ['runner.sh', ['bash', 'runner.sh']],
    ['runner.js', ['node', 'runner.js']],
    ['runner.mjs', ['node', 'runner.mjs']],
    ['main.py', ['python3', '-u', 'main.py']],
  ])('TOOL-5 is its runner by its name without a Dockerfile: %s', (file, argv) => {
    const { here, inImage, needs } = plan({ [file]: '', 'helper.py': '' })
    expect(here).toMatchObject({ argv, workingDirectory: '/tool', problem: null })
    expect([...here.files.keys()].sort()).toEqual(['/tool/helper.py', `/tool/${file}`])
    expect(inImage).toBeNull()
    expect(needs.programs).toMatchObject([{ name: argv[0] }])
  })

  it('TOOL-5 has its requirements from requirements.txt, without comments', () => {
    const { needs } = plan({ 'runner.py': '', 'requirements.txt': '# a comment\nrequests>=2.28.0 # http\n\nnumpy\n' })
    expect(needs.python).toEqual(['requests>=2.28.0', 'numpy'])
  })

  it('TOOL-5 follows the Dockerfile: what is copied where, what is run, what must be there', () => {
    const { here, inImage, needs, notes } = plan({
      Dockerfile: dockerfile(
        'FROM python:3.12-slim',
        'RUN apt-get update && apt-get install -y jq poppler-utils libxml2 ca-certificates',
        'WORKDIR /app',
        'ENV MODE=fast',
        'COPY requirements.txt .',
        'RUN pip install -r requirements.txt && pip install "pillow>=10"',
        'COPY lib ./lib',
        'COPY runner.py /opt/extra/start.py',
        'ENTRYPOINT ["python", "-u", "/opt/extra/start.py"]',
      ),
      'requirements.txt': 'requests',
      'runner.py': '',
      'lib/a.py': '',
      'lib/deep/b.py': '',
      'unused.txt': '',
    })
    expect(here).toMatchObject({
      argv: ['python', '-u', '/opt/extra/start.py'],
      workingDirectory: '/app',
      environment: { MODE: 'fast' },
      problem: null,
    })
    expect([...here.files].map(([place, { path }]) => [place, path])).toEqual([
      ['/app/requirements.txt', 'requirements.txt'],
      ['/app/lib/a.py', 'lib/a.py'],
      ['/app/lib/deep/b.py', 'lib/deep/b.py'],
      ['/opt/extra/start.py', 'runner.py'],
    ])
    expect(foldersOf(here.files.keys())).toEqual(['/app', '/opt/extra'])
    expect(inImage).toEqual({
      argv: ['python', '-u', '/opt/extra/start.py'],
      workingDirectory: '/app',
      environment: { MODE: 'fast' },
    })
    expect(needs.programs).toEqual([
      { name: 'python', package: 'python3' },
      { name: 'jq', package: 'jq' },
      { name: 'pdftotext', package: 'poppler-utils' },
    ])
    expect(needs.python.toSorted()).toEqual(['pillow>=10', 'requests'])
    expect(notes).toEqual(['It installs libxml2: whether this machine has it is not known.'])
  })

  it('TOOL-5 moves files that an image has among the system, and the words that name them', () => {
    const { here, inImage } = plan({
      Dockerfile: dockerfile(
        'FROM node:22',
        'WORKDIR /usr/src/app',
        'ENV APP_ROOT=/usr/src/app',
        'ENV SHELL=/bin/bash',
        'COPY . .',
        'COPY run.sh /run.sh',
        'ENTRYPOINT ["/bin/bash", "/run.sh", "index.js"]',
      ),
      'index.js': '',
      'run.sh': '',
    })
    expect(here).toMatchObject({
      argv: ['/bin/bash', '/tool/run.sh', 'index.js'],
      workingDirectory: '/tool/usr/src/app',
      environment: { APP_ROOT: '/tool/usr/src/app', SHELL: '/bin/bash' },
    })
    expect(foldersOf(here.files.keys())).toEqual(['/tool'])
    expect(inImage?.argv).toEqual(['/bin/bash', '/run.sh', 'index.js'])
  })

  it('TOOL-5 makes executable what the Dockerfile does, and takes patterns', () => {
    const { here } = plan({
      Dockerfile: dockerfile(
        'FROM alpine',
        'WORKDIR /tool',
        'COPY *.sh ./',
        'RUN chmod +x runner.sh',
        'ENTRYPOINT ["./runner.sh"]',
      ),
      'runner.sh': '',
      'other.sh': '',
      'data.txt': '',
    })
    expect([...here.files].map(([place, { isExecutable }]) => [place, isExecutable])).toEqual([
      ['/tool/runner.sh', true],
      ['/tool/other.sh', false],
    ])
  })

  it('TOOL-5 runs CMD where there is no ENTRYPOINT', () => {
    const files = {
      Dockerfile: dockerfile('FROM x', 'WORKDIR /app', 'COPY . .', 'CMD ["python", "runner.py"]'),
      'runner.py': '',
    }
    expect(plan(files).here.argv).toEqual(['python', 'runner.py'])
  })

  it('TOOL-5 says what is missing in the folder, and what only an engine can do', () => {
    expect(problem({})).toContain('There is no Dockerfile and no runner')
    expect(problem({ Dockerfile: 'FROM x' })).toContain('Dockerfile, line 1:')
    expect(problem({ Dockerfile: dockerfile('FROM x', 'COPY gone.py /app/', 'ENTRYPOINT ["x"]') })).toBe(
      'The Dockerfile copies what its folder does not hold: gone.py',
    )
    const staged = dockerfile('FROM a AS build', 'FROM b', 'COPY --from=build /x /x', 'ENTRYPOINT ["/x"]')
    expect(problem({ Dockerfile: staged })).toContain('line 3: COPY --from')
  })

  it('TOOL-5 asks for packages of Node that its folder does not hold', () => {
    const files = {
      Dockerfile: dockerfile(
        'FROM node',
        'WORKDIR /app',
        'COPY . .',
        'RUN npm install && npm install left-pad@1.3',
        'ENTRYPOINT ["node", "x.js"]',
      ),
      'package.json': '{"dependencies": {"@scope/one": "1", "two": "2"}}',
      'x.js': '',
      'node_modules/two/index.js': '',
    }
    expect(plan(files).needs.node).toEqual(['left-pad', '@scope/one'])
  })
})
