import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DockerfilePlan, readDockerfile } from './dockerfile.ts'

function read(...lines: string[]): DockerfilePlan {
  return readDockerfile(lines.join('\n'))
}

/** With a base and a command, so that a test names only its subject. */
function readBody(...lines: string[]): DockerfilePlan {
  return read('FROM base', ...lines, 'CMD ["run"]')
}

function problemsOf({ problems }: DockerfilePlan): string[] {
  return problems.map(({ line, message, isFatal }) => `${line}${isFatal ? '!' : ''} ${message}`)
}

describe('readDockerfile', () => {
  it('TOOL-5 reads a published Python tool', () => {
    const plan = read(
      'FROM python:3.9-slim',
      '',
      'WORKDIR /app',
      'COPY . .',
      'RUN pip install -q requests',
      'ENTRYPOINT ["python", "-u", "runner.py"]',
    )
    expect(plan).toEqual({
      from: 'python:3.9-slim',
      workdir: '/app',
      copies: [{ source: '.', target: '/app', isIntoDirectory: true }],
      entrypoint: ['python', '-u', 'runner.py'],
      cmd: [],
      environment: {},
      installs: { system: [], pip: ['requests'], pipFiles: [], npm: [], npmProject: false },
      executables: [],
      problems: [],
    })
  })

  it('TOOL-5 reads a published bash tool', () => {
    const plan = read(
      'FROM alpine:3.19',
      'RUN apk add --no-cache bash jq',
      'WORKDIR /tool',
      'COPY runner.sh .',
      'RUN chmod +x runner.sh',
      'ENTRYPOINT ["bash", "runner.sh"]',
    )
    expect(plan.installs.system).toEqual(['bash', 'jq'])
    expect(plan.copies).toEqual([{ source: 'runner.sh', target: '/tool', isIntoDirectory: true }])
    expect(plan.executables).toEqual(['/tool/runner.sh'])
    expect(plan.problems).toEqual([])
  })

  it('joins continued lines, ignoring comments and empty lines between them', () => {
    const plan = readBody(
      'RUN apt-get update && \\',
      '  # the shell',
      '',
      '    apt-get install -y bash \\  ',
      '  jq=1.6',
    )
    expect(plan.installs.system).toEqual(['bash', 'jq'])
    expect(plan.problems).toEqual([])
  })

  it('supports another line continuation character', () => {
    const plan = read('# escape=`', 'FROM base', 'RUN apk add `', '  jq', 'WORKDIR C:\\tool', 'CMD ["run"]')
    expect(plan.installs.system).toEqual(['jq'])
    expect(plan.workdir).toBe('/C:\\tool')
  })

  it.each([
    ['ENTRYPOINT ["python", "a b.py"]', ['python', 'a b.py']],
    ['ENTRYPOINT python runner.py', ['/bin/sh', '-c', 'python runner.py']],
    ['entrypoint ["x"]', ['x']],
    ['ENTRYPOINT []', []],
    ['SHELL ["/bin/bash", "-c"]\nENTRYPOINT run $HOME', ['/bin/bash', '-c', 'run $HOME']],
  ])('reads %j', (line, entrypoint) => {
    expect(readBody(line)).toMatchObject({ entrypoint, cmd: ['run'], problems: [] })
  })

  it('reads a list that is not JSON as shell, like an engine, and reports it', () => {
    const plan = read('FROM base', "ENTRYPOINT ['python', 'runner.py']")
    expect(plan.entrypoint).toEqual(['/bin/sh', '-c', "['python', 'runner.py']"])
    expect(problemsOf(plan)).toEqual([
      "2 ENTRYPOINT is not a JSON list of texts, so it is read as shell: ['python', 'runner.py']",
    ])
  })

  it.each([
    ['ENV A=1 B="two words" C=a\\ b', { A: '1', B: 'two words', C: 'a b' }],
    ['ENV A the rest  of it', { A: 'the rest of it' }],
    [`ENV A=1\nENV B=$A/\${A}x C=\${D:-none} E=\${A:+yes} F=\\$A`, { A: '1', B: '1/1x', C: 'none', E: 'yes', F: '$A' }],
    ['ENV A=1\nENV B=\'$A\' C="$A"', { A: '1', B: '$A', C: '1' }],
    ['ARG A=5\nARG U\nENV B=$A C=$U', { B: '5', C: '' }],
    ['ENV __proto__=x', Object.fromEntries([['__proto__', 'x']])],
  ])('reads %j', (lines, environment) => {
    const plan = readBody(lines)
    expect({ ...plan.environment }).toEqual(environment)
    expect(plan.problems).toEqual([])
  })

  it('arguments before FROM are known in FROM, and later only if named again', () => {
    const lines = ['ARG V=3.12', `FROM python:\${V}-slim`, 'ENV A=$V', 'ARG V', 'ENV B=$V', 'CMD ["run"]']
    expect(read(...lines)).toMatchObject({ from: 'python:3.12-slim', environment: { A: '', B: '3.12' } })
  })

  it('appends relative folders to the previous one', () => {
    expect(readBody('WORKDIR /a', 'ENV D=c', 'WORKDIR b/$D', 'WORKDIR ..').workdir).toBe('/a/b')
  })

  it.each([
    ['COPY a.py /x/b.py', [{ source: 'a.py', target: '/x/b.py', isIntoDirectory: false }]],
    ['COPY a.py /x/', [{ source: 'a.py', target: '/x', isIntoDirectory: true }]],
    ['COPY a.py ./b.py', [{ source: 'a.py', target: '/w/b.py', isIntoDirectory: false }]],
    ['COPY --chown=1:1 ["a b.py", "lib", "./"]', ['a b.py', 'lib'].map((source) => intoWorkdir(source))],
    ['COPY *.py .', [intoWorkdir('*.py')]],
    ['COPY ./src/ /w', [intoWorkdir('src')]],
    ['ADD /etc/x.json .', [intoWorkdir('etc/x.json')]],
    ['COPY . /w/', [intoWorkdir('.')]],
  ])('reads %j', (line, copies) => {
    expect(readBody('WORKDIR /w', line)).toMatchObject({ copies, problems: [] })
  })

  function intoWorkdir(source: string) {
    return { source, target: '/w', isIntoDirectory: true }
  }

  it.each([
    ['RUN pip install --no-cache-dir "requests>=2" \'numpy==1.26\'', { pip: ['requests>=2', 'numpy==1.26'] }],
    ['RUN python3 -m pip install --upgrade pip && pip3 install lxml', { pip: ['lxml'] }],
    ['RUN ["pip", "install", "requests"]', { pip: ['requests'] }],
    ['RUN <<EOF\npip install a\napk add b\nEOF', { pip: ['a'], system: ['b'] }],
    ['RUN --mount=type=cache,target=/root/.cache pip install a', { pip: ['a'] }],
    ['RUN npm ci --omit=dev', { npmProject: true }],
    ['RUN npm install -g cowsay@1.6', { npm: ['cowsay@1.6'] }],
    ['RUN apk add --no-cache --virtual .build gcc && rm -rf /x', { system: ['gcc'] }],
    ['RUN DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends a=1 b', { system: ['a', 'b'] }],
    ['COPY requirements.txt /r/\nRUN pip install -r /r/requirements.txt', { pipFiles: ['requirements.txt'] }],
    ['COPY . .\nRUN pip install -r sub/dev.txt', { pipFiles: ['sub/dev.txt'] }],
    ['COPY req*.txt .\nRUN pip install -r req-a.txt', { pipFiles: ['req-a.txt'] }],
    ['COPY r?q*-*.t*t x/\nRUN pip install -r x/req-a-b.txt', { pipFiles: ['req-a-b.txt'] }],
  ])('finds what %j installs', (lines, installs) => {
    expect(readBody('WORKDIR /w', lines)).toMatchObject({ installs, problems: [] })
  })

  it.each([
    ['RUN curl https://x | sh', '2 Skipped without a container engine: curl https://x | sh'],
    ['RUN pip install a && make', '2 Skipped without a container engine: make'],
    ['RUN pip install $(cat x)', '2 Skipped without a container engine: pip install $(cat x)'],
    ['RUN pip install -r r.txt', '2 pip installs from r.txt, which no COPY above provides'],
    ['COPY *.txt .\nRUN pip install -r a/r.txt', '3 pip installs from a/r.txt, which no COPY above provides'],
    ['RUN pip install -i http://x a', '2 Skipped without a container engine: pip install -i http://x a'],
    ['COPY --from=b /x /y', '2! COPY --from copies files from another image; this requires a container engine'],
    ['COPY ../x .', "2! COPY refers to a path outside the tool's folder: ../x; this requires a container engine"],
    ['COPY x', '2! COPY needs a source and a target; this requires a container engine'],
    ['ADD https://x/y .', '2! ADD fetches https://x/y; this requires a container engine'],
    ['ADD x.tar.gz .', '2! ADD unpacks x.tar.gz; this requires a container engine'],
    ['ENV A', '2! ENV needs NAME=value, not: A'],
    ['WORKDIR', '2! WORKDIR has no folder'],
    ['FORM x', '2! FORM is not a Dockerfile instruction'],
    ['RUN <<EOF\npip install a', '2! The text after <<EOF has no closing line EOF'],
  ])('reports for %j what is wrong, and where', (lines, problem) => {
    const plan = lines.includes('<<') ? read('FROM base', lines) : readBody(lines)
    expect(problemsOf(plan)[0]).toBe(problem)
  })

  it.each([
    ['', '1! There is no FROM'],
    ['RUN x\nFROM y', '2! There is no ENTRYPOINT and no CMD, so the program to run is only known to the base image'],
    ['RUN x', '1! RUN comes before the first FROM'],
    ['FROM\nCMD x', '1! FROM has no image'],
  ])('reports for the whole file %j what is wrong, and where', (text, problem) => {
    expect(problemsOf(readDockerfile(text))).toContain(problem)
  })

  it('follows the last stage and its base stages', () => {
    const plan = read(
      'FROM one AS first',
      'ENV A=1',
      'RUN strange',
      'CMD ["first"]',
      'FROM two AS second',
      'RUN stranger',
      'FROM FIRST',
      'ENTRYPOINT ["last"]',
    )
    expect(plan).toMatchObject({ from: 'one', environment: { A: '1' }, entrypoint: ['last'], cmd: [] })
    expect(problemsOf(plan)).toEqual(['3 Skipped without a container engine: strange'])
  })

  it('never throws, and reports problems on existing lines', () => {
    const pieces = ['FROM x', 'RUN pip install', 'COPY', 'ENV', '<<EOF', '\\', '\n', '#', '[', '"', "'", '$', '${', '=']
    const piece = fastCheck.oneof(fastCheck.constantFrom(...pieces, ' '), fastCheck.string({ unit: 'binary' }))
    fastCheck.assert(
      fastCheck.property(fastCheck.array(piece), (parts) => {
        const text = parts.join('')
        const plan = readDockerfile(text)
        const lines = text.split(/\r\n|\n|\r/).length
        expect(plan.problems.filter(({ line }) => line < 1 || line > lines)).toEqual([])
        expect(plan.copies.filter(({ source, target }) => /^(\.\.)?(\/|$)/.test(source) || target[0] !== '/')).toEqual(
          [],
        )
      }),
    )
  })

  it('reads the same however the lines are broken and commented', () => {
    const word = fastCheck.stringMatching(/^[a-z][a-z0-9.-]{0,8}[a-z]$/)
    const words = fastCheck.array(word, { minLength: 1, maxLength: 4 })
    const breaks = fastCheck.infiniteStream(fastCheck.constantFrom(' ', ' \\\n', ' \\ \n# note\n\n  ', '\t'))
    fastCheck.assert(
      fastCheck.property(words, words, words, breaks, (system, pip, argv, spaces) => {
        const space = () => spaces.next().value ?? ' '
        const broken = (...parts: string[]) => parts.reduce((text, part) => text + space() + part)
        const plan = read(
          broken('FROM', 'base'),
          broken('RUN', 'apk', 'add', ...system, '&&', 'pip', 'install', ...pip),
          `ENTRYPOINT${space()}${JSON.stringify(argv)}`,
        )
        const fixed = ['pip', 'setuptools', 'wheel']
        expect(plan.problems).toEqual([])
        expect(plan.installs.system).toEqual(system)
        expect(plan.installs.pip).toEqual(pip.filter((name) => !fixed.includes(name)))
        expect(plan.entrypoint).toEqual(argv)
      }),
    )
  })
})
