/** Near the targets by their subject: what the generated ones do with these is something that no target does. */
export const neighbouringSubjects = list(`
exchange rates, weather warnings, mortgage offers, restaurant bills, body measurements, oven temperatures, signed contracts,
scanned pages, profile pictures, camera lenses, wifi networks, supermarket products, account passwords, file checksums,
API responses, spreadsheet exports, configuration files, phone numbers, scheduled jobs, world clocks, notice periods,
school holidays, lunar eclipses, bicycle lights, smog levels, hay fever cases, harbour fees, seismic sensors, airline tickets,
railway platforms, bus stops, rental bicycles, parking tickets, petrol receipts, charging cables, traffic jams,
motorway bridges, postal codes, map coordinates, hiking trails, delivery vans, cooking classes, vitamin supplements,
vegetarian restaurants, supermarket shelves, wine cellars, coffee machines, cake orders, food labels, freezer contents,
share prices, crypto wallets, investment funds, dividend notices, savings accounts, income tax letters, VAT numbers,
unpaid invoices, household budgets, bank accounts, till receipts, streaming subscriptions, rental flats, company cars,
translation memories, foreign letters, spelling rules, newspaper articles, school textbooks, keyword lists, dictionaries,
song rhymes, board games, crossword magazines, radio signals, audio books, meeting minutes, film subtitles, home videos,
animated stickers, music playlists, record collections, podcast adverts, choir lyrics, concert tickets, film reviews,
cinema seats, television licences, second-hand books, library cards, research preprints, footnotes, encyclopedia edits,
newspaper subscriptions, blog comments, forum posts, web servers, TLS certificates, mail servers, domain names,
open network ports, internet contracts, login attempts, broken web pages, landing pages, web page templates, short links,
newsletter campaigns, e-mail addresses, mailing lists, team calendars, dentist appointments, meeting rooms, focus sessions,
daily habits, household chores, project tickets, working hours, release notes, Python scripts, SQL queries,
database indexes, container images, server logs, hard disks, background processes, backup tapes, holiday photos,
zip archives, encrypted notes, paint colours, colour-blind readers, vector icons, browser tabs, poster fonts,
placeholder texts, sales charts, measurement series, weight curves, algebra homework, matrices, prime numbers,
hexadecimal dumps, Roman inscriptions, dice games, raffle tickets, sudoku books, chess clubs, lottery tickets,
football players, tennis tournaments, dumbbell exercises, marathon runners, pulse sensors, sleep studies, drinking fountains,
pill boxes, medicine leaflets, headache cures, midwife visits, baby clothes, vaccine stocks, burn injuries,
pharmacy prescriptions, skin doctors, garden plants, house plants, tomato seeds, bird houses, dog food, dog walkers,
living room lamps, radiators, electricity contracts, solar panels, laundry rooms, front door keys, parcels, waste bins,
postage stamps, moving companies, toasters, birthday presents, birthday cards, wedding guests, suitcases, passports,
hotel reviews, travel insurance, tourist phrases, power sockets, telescopes, space missions, nursing jobs, job interviews,
French vocabulary, times tables, chemical elements, laboratory reactions`)

export type Work = readonly [name: string, sentence: string, tags: string]

/** The work on them; `#` is the subject. */
export const neighbouringWork: readonly Work[] = [
  ['archive', 'Archives # older than a given date.', 'storage, old, clean up'],
  ['ledger_export', 'Exports # to the format of the accountant.', 'bookkeeping, finance, file'],
  ['change_audit', 'Lists who edited the records of # and when.', 'history, compliance, users'],
  ['anonymise', 'Removes personal names from stored data about #.', 'privacy, data protection'],
  ['migrate', 'Moves # from an old account to a new one.', 'transfer, account, data'],
  ['sample_data', 'Makes up # for testing software.', 'developers, testing, dummy'],
  ['yearly_comparison', 'Compares # of two calendar years side by side.', 'trend, statistics, years'],
  ['team_notice', 'Posts changes in # to a team channel.', 'chat, updates, colleagues'],
  ['folder_labels', 'Prints labels for folders about #.', 'office, paper, printing'],
  ['customer_survey', 'Collects opinions of customers on # in a questionnaire.', 'feedback, opinion, form'],
  ['lesson_plan', 'Drafts a school lesson about #.', 'teaching, school, children'],
  ['gap_report', 'Finds records of # that lack a mandatory field.', 'data quality, missing'],
  ['supplier_ranking', 'Ranks suppliers of # by price and reliability.', 'purchasing, vendors, price'],
]

/** Fields of work that no target is about, with what they deal with. */
export const fields: Readonly<Record<string, readonly string[]>> = {
  payroll: list('overtime claims, pay slips, bonus agreements, pension contributions, sick notes, expense advances'),
  procurement: list(
    'purchase orders, supplier bids, delivery notes, framework agreements, price lists, goods receipts',
  ),
  warehouse: list('pallet positions, picking routes, stock counts, forklift shifts, dock bookings, batch numbers'),
  manufacturing: list('machine downtimes, scrap rates, work orders, tool changes, spindle loads, moulding cycles'),
  quality: list(
    'defect reports, inspection plans, calibration records, supplier complaints, control charts, test benches',
  ),
  construction: list('site diaries, concrete pours, scaffold checks, crane hours, building permits, tender documents'),
  architecture: list(
    'floor plans, facade variants, room schedules, model revisions, fire compartments, daylight studies',
  ),
  insurance: list(
    'damage claims, policy renewals, risk surveys, broker commissions, fraud signals, reinsurance treaties',
  ),
  law: list('court deadlines, witness statements, case files, licence terms, patent claims, power of attorney forms'),
  tenancy: list(
    'utility statements, handover protocols, deposit accounts, repair requests, owner meetings, lease clauses',
  ),
  farming: list('crop rotations, milk yields, herd registers, pesticide records, irrigation valves, harvest contracts'),
  forestry: list('timber stacks, felling permits, bark beetle traps, hunting seats, tree inventories, log trucks'),
  fishing: list('catch quotas, net repairs, fish auctions, trawler positions, aquaculture tanks, ice deliveries'),
  mining: list('blast plans, ore grades, shaft inspections, ventilation fans, haul roads, tailings dams'),
  shipping: list(
    'container manifests, port calls, bills of lading, ballast reports, charter parties, demurrage claims',
  ),
  customs: list('tariff codes, transit papers, origin certificates, export licences, duty refunds, bonded stores'),
  airport: list('baggage belts, gate assignments, slot requests, de-icing trucks, runway inspections, crew rosters'),
  railway_works: list(
    'track possessions, signal faults, wagon inspections, sleeper orders, catenary tests, shunting plans',
  ),
  hospital: list('operating theatres, bed occupancy, discharge letters, blood units, infusion pumps, triage notes'),
  laboratory: list(
    'sample vials, assay results, reagent lots, centrifuge runs, freezer inventories, method validations',
  ),
  clinical_trials: list(
    'consent forms, adverse events, study visits, randomisation lists, protocol deviations, case report forms',
  ),
  dentistry: list('crown orders, x-ray images, hygiene recalls, implant stocks, treatment plans, sterilisation cycles'),
  veterinary: list('stable visits, livestock vaccines, ear tags, carcass reports, clinic cages, import certificates'),
  care_homes: list('shift handovers, wound records, resident activities, fall reports, menu wishes, call bells'),
  kindergarten: list(
    'group attendance, parent letters, pick-up permissions, nap times, outing consents, toy inventories',
  ),
  university: list(
    'exam registrations, lecture halls, thesis topics, grant proposals, enrolment lists, tutor contracts',
  ),
  school_office: list('report cards, substitute lessons, timetable clashes, class trips, locker keys, parent evenings'),
  research_data: list(
    'sensor archives, field notebooks, codebooks, interview transcripts, simulation runs, data licences',
  ),
  museum: list('loan objects, climate loggers, exhibition labels, restoration reports, visitor counts, depot shelves'),
  theatre: list('rehearsal plans, costume fittings, stage cues, prop lists, season tickets, understudies'),
  orchestra: list(
    'sheet music parts, instrument insurances, seating rotations, audition panels, tour trucks, recording takes',
  ),
  film_production: list('shooting schedules, call sheets, lens rentals, location permits, dailies, sound reports'),
  game_studio: list(
    'level designs, bug reports, player telemetry, texture budgets, localisation strings, build pipelines',
  ),
  printing: list('plate orders, ink levels, proof approvals, paper stocks, binding jobs, colour profiles'),
  publishing: list('manuscripts, royalty statements, cover drafts, print runs, reviewer assignments, rights contracts'),
  advertising: list('media plans, banner sizes, click reports, brand guidelines, influencer contracts, focus groups'),
  retail: list('shelf prices, cash drawers, loyalty cards, returns, shop windows, staff discounts'),
  ecommerce: list(
    'abandoned carts, product variants, refund requests, marketplace listings, review replies, size charts',
  ),
  fashion: list('fabric swatches, pattern grades, sample sizes, showroom visits, trim orders, look books'),
  restaurant_kitchen: list(
    'table turns, waiter tips, kitchen tickets, allergen cards, menu margins, reservation no-shows',
  ),
  brewery: list('mash temperatures, yeast strains, keg returns, hop contracts, bottling lines, duty stamps'),
  bakery_chain: list('oven loads, flour deliveries, unsold rolls, branch orders, dough recipes, night shifts'),
  hotel_desk: list('room blocks, minibar charges, housekeeping rounds, key cards, guest complaints, breakfast counts'),
  events: list('speaker contracts, badge prints, stage layouts, sponsor packages, catering counts, volunteer rotas'),
  fire_service: list('hydrant checks, alarm drills, hose tests, turnout times, breathing masks, station rosters'),
  police: list('lost property, patrol areas, evidence bags, witness lists, traffic cameras, permit checks'),
  city_hall: list('resident registrations, market stalls, marriage dates, dog licences, street works, council minutes'),
  elections: list('polling stations, ballot papers, postal votes, candidate lists, counting teams, turnout figures'),
  water_works: list('pipe bursts, pump hours, chlorine levels, meter readings, reservoir depths, sewer inspections'),
  power_grid: list('transformer loads, outage tickets, balancing bids, line inspections, feeder maps, relay settings'),
  wind_farms: list('blade inspections, turbine alarms, noise readings, yaw errors, feed-in statements, crane bookings'),
  oil_and_gas: list('well logs, pipeline pigs, flare volumes, valve tests, tank farms, drilling reports'),
  telecom: list('cell towers, SIM activations, roaming agreements, fibre splices, call records, number ports'),
  data_centre: list('rack spaces, cooling units, cable plans, power feeds, spare parts, access badges'),
  cloud: list('virtual machines, object stores, access keys, cost centres, load balancers, service quotas'),
  security_office: list(
    'phishing reports, firewall rules, vulnerability findings, badge readers, incident tickets, key rotations',
  ),
  software_delivery: list('pull requests, feature flags, test coverage, deployment windows, crash dumps, code owners'),
  support_desk: list(
    'help desk tickets, canned answers, escalation rules, satisfaction scores, agent shifts, chat queues',
  ),
  sales: list('leads, quotations, sales territories, pipeline stages, contract renewals, discount approvals'),
  fundraising: list(
    'donor letters, pledge forms, grant reports, street collections, legacy gifts, donation certificates',
  ),
  church: list('service rotas, bell times, parish registers, candle stocks, choir robes, grave plots'),
  sports_club: list('membership fees, hall bookings, referee rotas, jersey sizes, club statutes, trainer licences'),
  climbing_gym: list('route settings, rope ages, auto belays, course bookings, waiver forms, hold washings'),
  sailing: list('berth allocations, sail repairs, regatta results, life jackets, antifouling jobs, charter handovers'),
  aviation_club: list('flight hours, glider inspections, tow ropes, medical certificates, hangar places, fuel bowsers'),
  car_workshop: list('brake tests, tyre hotels, spare keys, courtesy cars, diagnostic codes, paint jobs'),
  car_dealer: list('test drives, trade-in offers, registration papers, leasing returns, showroom cars, recall letters'),
  logistics: list('driver hours, tour plans, load securing, tachograph files, cold chains, fuel cards'),
  real_estate: list('viewing appointments, exposés, land registers, brokerage fees, valuation reports, energy passes'),
  human_resources: list(
    'job references, onboarding steps, training budgets, leave requests, appraisal talks, works council votes',
  ),
  banking: list('credit files, dormant accounts, card disputes, branch safes, sanction hits, standing orders'),
  accounting: list('cost centres, journal entries, fixed assets, dunning letters, period closings, audit samples'),
  genealogy: list('parish books, family trees, emigrant lists, gravestone photos, DNA matches, coats of arms'),
  archaeology: list('dig sites, pottery sherds, soil layers, find bags, drone surveys, carbon dates'),
  astronomy_lab: list('spectra, dome motors, flat fields, light curves, guide cameras, plate archives'),
  meteorology_office: list(
    'radiosondes, rain gauges, radar mosaics, station metadata, model ensembles, storm bulletins',
  ),
  oceanography: list('buoy batteries, salinity casts, whale sightings, ship tracks, seabed maps, plankton nets'),
  biology: list('gene sequences, cell cultures, microscope slides, mouse cages, primer orders, protein gels'),
  textiles: list('yarn lots, loom stops, dye recipes, pilling tests, roll widths, carpet samples'),
  jewellery: list('gem certificates, ring sizes, casting trees, hallmark stamps, repair bags, consignment pieces'),
}

/** And what is done there. */
export const work: readonly Work[] = [
  ['approve', 'Approves or declines # by the rules of the house.', 'workflow, decision'],
  ['reconcile', 'Reconciles # with what the other side reports.', 'differences, accounts'],
  ['forecast', 'Predicts the number of # for the coming months.', 'planning, prediction, trend'],
  ['classify', 'Sorts # into categories.', 'categories, sorting'],
  ['deduplicate', 'Merges # that were entered twice.', 'duplicates, clean up'],
  ['validate', 'Checks # for completeness and plausibility.', 'errors, data quality'],
  ['assign', 'Assigns # to the staff that is free.', 'staff, planning, shifts'],
  ['digest', 'Summarises # of the day in one message.', 'summary, daily, message'],
  ['dashboard', 'Shows # on a dashboard with filters.', 'overview, chart, filter'],
  ['lookup', 'Looks up # by their number.', 'search, find, number'],
  ['import', 'Imports # from a spreadsheet.', 'excel, spreadsheet, upload'],
  ['reminder', 'Reminds those in charge of # that are overdue.', 'deadline, overdue, notification'],
  ['cost_report', 'Adds up what # cost in a quarter.', 'money, spending, quarter'],
  ['history', 'Shows the past states of #.', 'past, changes, timeline'],
  ['match', 'Matches # with the contracts that they belong to.', 'contracts, linking'],
  ['print', 'Prints # in the layout of the department.', 'paper, layout, pdf'],
  ['sign_off', 'Collects signatures for #.', 'signature, approval, document'],
  ['anomaly', 'Points out # that are unlike the others.', 'outliers, unusual, warning'],
]

export const places = list(`
, for one site, for a department, of the northern branch, of a subsidiary, by region, by week, by customer, for the night shift,
for new staff, for the management, in two languages, with photos, with comments, for external auditors, of past years`)

function list(text: string): string[] {
  return text
    .replaceAll('\n', ' ')
    .split(',')
    .map((item) => item.trim())
}
