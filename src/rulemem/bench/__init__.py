"""The benchmark: RuleMem, its ablations and baselines, on the same turns, models and budget.

    locomo.py           the official file and its questions
    metrics.py          F1, BLEU-1, LoCoMo's score (treebank.py, sentences.py, porter.py below it)
    recall.py           evidence recall at ranks and at budgets of tokens
    intervals.py        Wilson, paired bootstrap
    systems.py          the protocol; baselines.py, rankers.py, rulemem_arms.py, overlays.py
    shared_store.py     one memory per conversation, for all arms
    run.py              the resumable loop, over run_folder.py
    report.py           records -> Markdown; recall_report.py, answer_report.py, cost_report.py
    cli.py              `rulemem bench`

The product never imports it.
"""
