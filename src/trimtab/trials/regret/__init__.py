"""A recorded night → what each decision did, beside the best that as many moves could have done."""
